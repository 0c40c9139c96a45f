-- terms: those that have been noted
-- KEYS     hash, terms
-- ARGV     list, flags
-- returns  {time, 1, terms}
local instead = memory()
if instead then
  return instead
end
return {now, 1, redis.call('HGETALL', KEYS[2])}
