-- poll: returns whether the server still serves a leader, and which jobs were paused, resumed or triggered
-- KEYS     ..., names, changes
-- ARGV     ..., ballot; 1 if the leader has written all of its jobs under it, else 0; the number of the last change that the leader
--          knows, or -1 for none; the largest number of changes to return
-- returns  h, header, and c and the number of changes, with the job and the number of each: the oldest that the leader does not
--          know or, after -1, the newest
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
elseif tonumber(sub(ARGV[4], 1, 16)) <= tonumber(marker) + ahead then -- serve this leader only under a larger ballot
  items[1] = 's' .. age
  return answer()
elseif ARGV[5] == '1' and not redis.call('ZRANGEBYLEX', KEYS[3], '-', '+', 'LIMIT', 0, 1)[1] then
  items[1] = 'u' .. age
  return answer()
end
if sub(header, 33, 58) == ARGV[4] and (quiet() or sub(header, 91, 91) ~= ARGV[5]) then
  header = sub(header, 1, 73) .. string.format('%016d ', now) .. ARGV[5] .. sub(header, 92)
  redis.call('HSET', jobs, '', header)
end
items[1], texts[1] = 'h' .. age, header
local found
if ARGV[6] == '-1' then
  found = redis.call('ZREVRANGEBYSCORE', KEYS[4], now + day, '-inf', 'WITHSCORES', 'LIMIT', 0, ARGV[7])
else
  found = redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. ARGV[6], now + day, 'WITHSCORES', 'LIMIT', 0, ARGV[7])
end
items[2] = 'c' .. #found / 2
for i, what in ipairs(found) do
  texts[i + 1] = what
end
return answer()
