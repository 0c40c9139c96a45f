-- poll: whether the server still serves a leader, and which jobs people have paused, resumed or triggered since
-- KEYS     ..., changes
-- ARGV     ..., ballot; the number of the last change that is known, or -1: none is; changes at most, if none is
-- returns  h, header, and c and their number: job and number of each, the newest first
--          or r, header: a larger ballot was promised; u: it may have lost its state, and serves only a larger ballot
if began then
  items[1] = 'u' .. string.format('%d', now - began)
  return answer()
end
local age = string.format('%d', now - tonumber(marker))
if sub(header, 33, 58) > ARGV[4] then
  items[1], texts[1] = 'r' .. age, header
  return answer()
elseif tonumber(sub(ARGV[4], 1, 16)) <= tonumber(marker) + ahead then -- it serves this leader only under a larger ballot
  items[1] = 'u' .. age
  return answer()
end
if sub(header, 33, 58) == ARGV[4] and tonumber(sub(header, 74, 89)) + 1000000 < now then
  header = sub(header, 1, 73) .. string.format('%016d', now) .. sub(header, 90)
  redis.call('HSET', jobs, 'g', header)
end
items[1], texts[1] = 'h' .. age, header
local most = ARGV[5] == '-1' and ARGV[6] or -1 -- a change that is left out would go unnoticed
local found = redis.call('ZREVRANGEBYSCORE', KEYS[3], '+inf', '(' .. ARGV[5], 'WITHSCORES', 'LIMIT', 0, most)
items[2] = 'c' .. #found / 2
for i, what in ipairs(found) do
  texts[i + 1] = what
end
return answer()
