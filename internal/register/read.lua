-- read: all that is known of a job; nothing is written
-- KEYS     hash, job, runs
-- ARGV     list, flags
-- returns  {time, 1, hash, records}       those of runs without an end are in the hash
--          {time, 6, hash, name, left}    unknown, as in promise
--          {time, 5, layout}, {time, 10, error} as in promise
local instead, name, left = memory()
if instead then
  return instead
end
local flat = redis.pcall('HGETALL', KEYS[2])
if flat.err then
  return {now, 10, flat.err}
end
local under
for i = 1, #flat, 2 do
  if flat[i] == 'layout' and flat[i + 1] ~= '1' then
    return {now, 5, flat[i + 1]}
  end
  if flat[i] == 'under' then
    under = flat[i + 1]
  end
end
if under ~= name then
  return {now, 6, flat, name, left}
end
return {now, 1, flat, redis.call('HGETALL', KEYS[3])}
