-- release: remove the lock if it is still ours
-- KEYS     lock
-- ARGV     value
-- returns  {1, 0}                  removed
--          {0}                     it was gone
--          {0, value, ttl, 0}      held by that value, for so many ms
local holder = redis.call('GET', KEYS[1])
if not holder then
  return {0}
end
if holder ~= ARGV[1] then
  return {0, holder, redis.call('PTTL', KEYS[1]), 0}
end
redis.call('DEL', KEYS[1])
return {1, 0}
