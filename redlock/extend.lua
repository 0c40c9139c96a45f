-- extend: prolong the lock if it is still ours, and raise the fence where it is behind
-- KEYS     lock, fence
-- ARGV     value, ttl (ms), token
-- returns  {1, 0}                  extended
--          {0}                     the lock is gone
--          {0, value, ttl, 0}      held by that value, for so many ms
local holder = redis.call('GET', KEYS[1])
if not holder then
  return {0}
end
if holder ~= ARGV[1] then
  return {0, holder, redis.call('PTTL', KEYS[1]), 0}
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if tonumber(redis.call('GET', KEYS[2]) or '0') < tonumber(ARGV[3]) then
  redis.call('SET', KEYS[2], ARGV[3])
end
return {1, 0}
