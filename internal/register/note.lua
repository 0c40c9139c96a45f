-- note: that a term has begun
-- KEYS     hash, terms
-- ARGV     list, flags, token, since:replica
-- returns  {time, {1}}; {time, {10, error}} as in promise
local cap = 100 -- terms that are kept
local instead = memory()
if instead then
  return instead
end
local set = redis.pcall('HSET', KEYS[2], ARGV[3], ARGV[4])
if type(set) == 'table' then
  return {now, {10, set.err}}
end
redis.call('PEXPIRE', KEYS[2], fade)
if redis.call('HLEN', KEYS[2]) > cap then
  local tokens = redis.call('HKEYS', KEYS[2])
  table.sort(tokens, function(a, b) return tonumber(a) < tonumber(b) end)
  for i = 1, #tokens - cap do
    redis.call('HDEL', KEYS[2], tokens[i])
  end
end
return {now, {1}}
