-- set: what a person asks for: a pause, its end, or a run by hand
-- KEYS     hash, changes, job
-- ARGV     list, flags, job's name, pause or trigger, version:by:value, channel
-- returns  {time, answer}:
--          {1}                     set, and told on the channel
--          {0, version}            the node is past it: this version stands, or runs by hand are settled up to it
--          {6, '', name, left}, {5, layout}, {10, error} as in promise
local instead, name, left = memory()
if instead then
  return instead
end
local h = redis.pcall('HMGET', KEYS[3], 'layout', 'under', ARGV[4], 'mmark')
if h.err then
  return {now, {10, h.err}}
end
if h[1] and h[1] ~= '1' then
  return {now, {5, h[1]}}
end
if h[2] ~= name then
  return {now, {6, '', name, left}}
end
local version = tonumber(string.match(ARGV[5], '^%d+'))
if not newer(ARGV[5], h[3]) and ARGV[5] ~= h[3] then
  return {now, {0, tonumber(string.match(h[3], '^%d+'))}}
end
if ARGV[4] == 'trigger' and ARGV[5] ~= h[3] and version <= tonumber(h[4]) then
  return {now, {0, tonumber(h[4])}} -- no vote for it would come from here
end
redis.call('HSET', KEYS[3], ARGV[4], ARGV[5])
-- The version of a change rises at a node with every one, also where the clock does not.
local newest = redis.call('ZREVRANGEBYSCORE', KEYS[2], '+inf', '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
redis.call('ZADD', KEYS[2], string.format('%d', math.max(version, tonumber(newest[2] or '0') + 1)), ARGV[3])
redis.call('PEXPIRE', KEYS[2], fade)
redis.pcall('PUBLISH', ARGV[6], ARGV[4] .. ' ' .. ARGV[5]) -- without the right to, whoever leads looks now and then
return {now, {1}}
