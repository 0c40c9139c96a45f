-- promise: from now on no vote goes to a smaller token; and what is known of each job
-- KEYS     hash, names, then each job
-- ARGV     list, flags, token, time (µs), then for each job: name, plan
-- returns  {time, answer...}, one for each job; or {time, 3, nodes}, {time, 5, layout} as acquire does
--          {1, hash}               promised; as it was before
--          {6, hash, name, left}   unknown to what the node remembers now, whose guard lasts so many ms
--          {7, token}              promised to a larger token
--          {5, layout}             written by another version
--          {10, error}             there is something else
local instead, name, left = memory()
if instead then
  return instead
end

local function promise(job, plan)
  local flat = redis.pcall('HGETALL', job)
  if flat.err then
    return {10, flat.err}
  end
  local h = {}
  for i = 1, #flat, 2 do
    h[flat[i]] = flat[i + 1]
  end
  if h.layout and h.layout ~= '1' then
    return {5, h.layout}
  end
  if h.under ~= name then
    return {6, flat, name, left}
  end
  if tonumber(h.term) > tonumber(ARGV[3]) then
    return {7, tonumber(h.term)}
  end
  redis.call('HSET', job, 'term', ARGV[3])
  if h.plan ~= plan then
    redis.call('HSET', job, 'plan', plan, 'planned', ARGV[4])
  end
  return {1, flat}
end

local answers = {now}
for i = 1, #KEYS - 2 do
  answers[i + 1] = promise(KEYS[i + 2], ARGV[2 * i + 4])
end
redis.call('PEXPIRE', KEYS[2], fade)
return answers
