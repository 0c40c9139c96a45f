-- repair: set the lock again on a node that has lost it, and raise the fence where it is behind
-- KEYS     lock, fence
-- ARGV     value, ttl (ms), token
-- returns  {1, 0}                  set, or ours already
--          {0, value, ttl, 0}      held by that value, for so many ms
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return {0, holder, redis.call('PTTL', KEYS[1]), 0}
end
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
if tonumber(redis.call('GET', KEYS[2]) or '0') < tonumber(ARGV[3]) then
  redis.call('SET', KEYS[2], ARGV[3])
end
return {1, 0}
