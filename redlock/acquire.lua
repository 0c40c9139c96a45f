-- acquire: take the lock if it is free, and the next fence number with it
-- KEYS     lock, fence
-- ARGV     value, ttl (ms)
-- returns  {1, number}             granted; also to the same value that asks again, as before
--          {0, value, ttl, 0}      held by that value, for so many ms
local holder = redis.call('GET', KEYS[1])
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return {1, redis.call('INCR', KEYS[2])}
end
if holder == ARGV[1] then
  return {1, tonumber(redis.call('GET', KEYS[2]) or '0')}
end
return {0, holder, redis.call('PTTL', KEYS[1]), 0}
