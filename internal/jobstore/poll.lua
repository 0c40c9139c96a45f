-- poll: returns whether the server still serves a leader, and what people want of its jobs
-- KEYS     ..., names, hash of requests
-- ARGV     ..., ballot; 1 if the leader has written all of its jobs under it, 2 if all but those of sources, else 0; then fields
--          of requests, each with the ID of one to delete, or with one to keep
-- returns  h, /1 if the server is whole, header, and c and twice the number of requests, with the field and the text of each
--          or r, header: a larger ballot was promised; u: the server may have lost its state, or has lost the names; s: it serves
--          only a larger ballot; each with the number of µs since the start of the incarnation
if began then
  items[1] = 'u' .. string.format('%d', now - began)
  return answer()
end
local age = string.format('%d', now - tonumber(marker))
if sub(header, 33, 58) > ARGV[4] then
  items[1], texts[1] = 'r' .. age, header
  return answer()
elseif tonumber(sub(ARGV[4], 7, 22)) <= tonumber(marker) + ahead then -- serve this leader only under a larger ballot
  items[1] = 's' .. age
  return answer()
elseif ARGV[5] == '1' and not redis.call('ZRANGEBYLEX', KEYS[3], '-', '+', 'LIMIT', 0, 1)[1] then
  items[1] = 'u' .. age
  return answer()
end
local serves = sub(header, 33, 58) == ARGV[4]
if serves and (quiet() or sub(header, 91, 91) ~= ARGV[5]) then
  header = sub(header, 1, 73) .. string.format('%016d ', now) .. ARGV[5] .. sub(header, 92)
  redis.call('HSET', jobs, '', header)
end
if serves and not whole and ARGV[5] == '1' then
  redis.call('HSET', hash, 'o', sub(owes, 1, owed) .. '0000000000000' .. sub(owes, owed + 14))
end
items[1], texts[1] = whole and 'h' .. age .. '/1' or 'h0', header
for i = 6, #ARGV, 2 do
  local present, request = redis.call('HGET', KEYS[4], ARGV[i]) or '', ARGV[i + 1]
  if sub(present, 17, 22) == request then
    redis.call('HDEL', KEYS[4], ARGV[i])
  elseif #request >= 22 and sub(believed(present) or '', 1, 22) < sub(request, 1, 22) then
    redis.call('HSET', KEYS[4], ARGV[i], request)
  end
end
local asked = redis.call('HGETALL', KEYS[4])
items[2] = 'c' .. #asked
for i, text in ipairs(asked) do
  texts[i + 1] = text
end
return answer()
