-- release: remove the lock if it is still ours, and tell those who wait for it
-- KEYS     lock
-- ARGV     value, what to tell before it: empty to tell nothing
-- returns  {time, 1, told}         removed; told is 0 where publishing is not permitted
--          {time, 0}               it was gone
--          {time, 0, value, ttl}   held by that value, for so many ms
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local holder = redis.call('GET', KEYS[1])
if not holder then
  return {now, 0}
end
if holder ~= ARGV[1] then
  return {now, 0, holder, redis.call('PTTL', KEYS[1])}
end
redis.call('DEL', KEYS[1])
if ARGV[2] ~= '' and type(redis.pcall('PUBLISH', KEYS[1], ARGV[2] .. ARGV[1])) ~= 'number' then
  return {now, 1, 0}
end
return {now, 1, 1}
