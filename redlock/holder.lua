-- holder: who holds the lock; changes nothing
-- KEYS     lock, fence
-- returns  {1, 0}                  nobody
--          {0, value, ttl, number} that value, for so many ms; number is the node's fence
local holder = redis.call('GET', KEYS[1])
if not holder then
  return {1, 0}
end
return {0, holder, redis.call('PTTL', KEYS[1]), tonumber(redis.call('GET', KEYS[2]) or '0')}
