-- finish: write the ends of records
-- A run's own end stands over what others said of it, and over the records of earlier attempts.
-- KEYS     for each record: job, runs
-- ARGV     for each record: lane and tick, record, whether it is the run's own (1) or what another says of it (0)
-- returns  {time, answer...}, one for each record:
--          {1}                     written
--          {0}                     another end stands
--          {5, layout}, {10, error} as in promise
local cap = 50 -- records that are kept of a job

local function trim(runs)
  if redis.call('HLEN', runs) <= cap + 10 then
    return
  end
  local fields, at, sorted = redis.call('HKEYS', runs), {}, {}
  for i, field in ipairs(fields) do
    local n = tonumber(string.sub(field, 2))
    at[i] = string.sub(field, 1, 1) == 'm' and n / 1000 or n
    sorted[i] = at[i]
  end
  table.sort(sorted)
  local oldest, old = sorted[#sorted - cap], {}
  for i, field in ipairs(fields) do
    if at[i] <= oldest then
      old[#old + 1] = field
    end
  end
  redis.call('HDEL', runs, unpack(old))
end

local function finish(job, runs, slot, record, own)
  local old = redis.pcall('HGET', job, 'o:' .. slot) or redis.pcall('HGET', runs, slot)
  if type(old) == 'table' then
    return {10, old.err}
  end
  local run, attempt, _, state, layout = parts(old)
  if old and layout ~= '1' then
    return {5, layout or old}
  end
  local mine, nth = parts(record)
  if run and (attempt > nth or attempt == nth and run ~= mine or
    own == '0' and (run ~= mine or state ~= 'claimed')) then
    return {0}
  end
  redis.call('HDEL', job, 'o:' .. slot)
  redis.call('HSET', runs, slot, record)
  redis.call('PEXPIRE', runs, fade)
  trim(runs)
  return {1}
end

local answers = {now}
for i = 1, #KEYS / 2 do
  answers[i + 1] = finish(KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i])
end
return answers
