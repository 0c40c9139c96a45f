-- raise: raise a fence where it is lower
-- KEYS     fence
-- ARGV     number
-- returns  {time, 1}               not lower any more
--          {time, 5, layout}       what is there was written by another version
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local fence = redis.call('GET', KEYS[1])
local number, under = string.match(fence or '1:0:0', '^1:(%d*):(%d*)$')
if not number then
  return {now, 5, string.match(fence, '^[^:]*')}
end
if tonumber(number) < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], '1:' .. ARGV[1] .. ':' .. under, 'PX', 604800000)
end
return {now, 1}
