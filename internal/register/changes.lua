-- changes: what was set by hand of which jobs since; and what the node remembers
-- KEYS     guard, changes
-- ARGV     longest ttl (ms; 0: no guard), nodes in the list, jobs at most, the version of the last that is known; 0: none
-- returns  {time, 1, name, job, version...}   the newest first
local instead, name = memory(KEYS[1], ARGV[1], ARGV[2])
if instead then
  return instead
end
local answer = {now, 1, name}
local found = redis.call('ZREVRANGEBYSCORE', KEYS[2], '+inf', '(' .. ARGV[4], 'WITHSCORES', 'LIMIT', 0, ARGV[3])
for i, what in ipairs(found) do
  answer[i + 3] = what
end
return answer
