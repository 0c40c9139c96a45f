-- repair: set the lock again on a node that has lost it, and raise the fence where it is behind
-- KEYS     lock, fence, guard
-- ARGV     value, ttl (ms), longest ttl (ms; 0: no guard), nodes in the list, token, best before (µs; 0: ever)
-- returns  as acquire; the number is the token
local instead = guard(KEYS[3], ARGV[3], ARGV[4], ARGV[6])
if instead then
  return instead
end

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return {now, 0, holder, redis.call('PTTL', KEYS[1])}
end
local fence = redis.call('GET', KEYS[2])
local number, under = string.match(fence or '', '^1:(%d+):(%d+)$')
if fence and not number then
  return {now, 5, string.match(fence, '^[^:]*')}
end
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
if not number or tonumber(number) < tonumber(ARGV[5]) then
  redis.call('SET', KEYS[2], '1:' .. ARGV[5] .. ':' .. (under or '0'), 'PX', 604800000)
end
return {now, 1, tonumber(ARGV[5])}
