-- holder: who holds the lock; changes nothing
-- KEYS     lock, fence
-- returns  {time, 1}                       nobody
--          {time, 0, value, ttl, number}   that value, for so many ms; number is the node's fence
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local holder = redis.call('GET', KEYS[1])
if not holder then
  return {now, 1}
end
local number = string.match(redis.call('GET', KEYS[2]) or '', '^1:(%d+):')
return {now, 0, holder, redis.call('PTTL', KEYS[1]), tonumber(number or '0')}
