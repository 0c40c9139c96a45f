-- finish: write the ends of records
-- A run's own end stands over what others said of it, and over the records of earlier attempts.
-- KEYS     runs, for each record
-- ARGV     for each record: lane and tick, record, whether it is the run's own (1) or what another says of it (0)
-- returns  {time, answer...}, one for each record:
--          {1}                     written
--          {0}                     another end stands
--          {5, layout}, {10, error} as in promise
local function finish(runs, slot, record, own)
  local old = redis.pcall('HGET', runs, slot)
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
  redis.call('HSET', runs, slot, record)
  redis.call('PEXPIRE', runs, fade)
  return {1}
end

local answers = {now}
for i = 1, #KEYS do
  answers[i + 1] = finish(KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i])
end
return answers
