-- names: all jobs, each with the version of what was last set of it by hand; and what the node remembers
-- KEYS     guard, names
-- ARGV     longest ttl (ms; 0: no guard), nodes in the list, what was set by hand as far as is known (-1: nothing is)
-- returns  {time, 1, name, set, names}   set counts what was set by hand; where nothing was since, there are no names
local instead, name = memory(KEYS[1], ARGV[1], ARGV[2])
if instead then
  return instead
end
local set = redis.call('HGET', KEYS[2], '') or '0'
if set == ARGV[3] then
  return {now, 1, name, set, {}}
end
return {now, 1, name, set, redis.call('HGETALL', KEYS[2])}
