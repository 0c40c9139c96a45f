-- changes: what was set by hand of which jobs since; and what the node remembers
-- KEYS     hash, changes
-- ARGV     list, flags, jobs at most where none is known, the version of the last
--          that is known; -1: none
-- returns  {time, 1, name, job, version...}   the newest first
local instead, name = memory()
if instead then
  return instead
end
local answer = {now, 1, name}
local most = ARGV[4] == '-1' and ARGV[3] or -1 -- of those that are left out nobody would hear any more
local found = redis.call('ZREVRANGEBYSCORE', KEYS[2], '+inf', '(' .. ARGV[4], 'WITHSCORES', 'LIMIT', 0, most)
for i, what in ipairs(found) do
  answer[i + 3] = what
end
return answer
