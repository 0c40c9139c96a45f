-- set: what a person asks for: a pause, its end, or a run by hand
-- KEYS     guard, names, job
-- ARGV     longest ttl (ms; 0: no guard), nodes in the list, job's name, pause or trigger, version:by:value, channel
-- returns  {time, answer}:
--          {1}                     set, and told on the channel
--          {0, other}              something newer stands
--          {6, '', name, left}, {5, layout}, {10, error} as in promise
local instead, name, left = memory(KEYS[1], ARGV[1], ARGV[2])
if instead then
  return instead
end
local h = redis.pcall('HMGET', KEYS[3], 'layout', 'under', ARGV[4])
if h.err then
  return {now, {10, h.err}}
end
if h[1] and h[1] ~= '1' then
  return {now, {5, h[1]}}
end
if h[2] ~= name then
  return {now, {6, '', name, left}}
end
if not newer(ARGV[5], h[3]) and ARGV[5] ~= h[3] then
  return {now, {0, h[3]}}
end
redis.call('HSET', KEYS[3], ARGV[4], ARGV[5])
-- It rises with every change, also where the clock does not.
local version, before = tonumber(string.match(ARGV[5], '^%d+')), redis.call('HMGET', KEYS[2], ARGV[3], '')
redis.call('HSET', KEYS[2], ARGV[3], string.format('%d', math.max(version, tonumber(before[1] or '0') + 1)),
  '', string.format('%d', tonumber(before[2] or '0') + 1))
redis.call('PEXPIRE', KEYS[2], fade)
redis.pcall('PUBLISH', ARGV[6], 'over ' .. ARGV[4] .. ' ' .. ARGV[5]) -- without the right to, whoever leads looks now and then
return {now, {1}}
