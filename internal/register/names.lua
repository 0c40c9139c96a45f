-- names: all jobs, each with the version of what was last set of it by hand; and what the node remembers
-- KEYS     guard, names
-- ARGV     longest ttl (ms; 0: no guard), nodes in the list
-- returns  {time, 1, names, name}
local instead, name = memory(KEYS[1], ARGV[1], ARGV[2])
if instead then
  return instead
end
return {now, 1, redis.call('HGETALL', KEYS[2]), name}
