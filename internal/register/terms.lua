-- terms: those that have been noted
-- KEYS     guard, terms
-- ARGV     longest ttl (ms; 0: no guard), nodes in the list
-- returns  {time, 1, terms}
local instead = memory(KEYS[1], ARGV[1], ARGV[2])
if instead then
  return instead
end
return {now, 1, redis.call('HGETALL', KEYS[2])}
