-- finish: write the ends of records
-- A run's own end stands over what others said of it, over the records of earlier attempts, and over the votes that
-- others had for the same attempt: it had a quorum, so theirs came to nothing.
-- KEYS     for each record: job, runs
-- ARGV     for each record: lane and tick, record, whether it is the run's own (1) or what another says of it (0)
-- returns  {time, answer...}, one for each record:
--          {1}                     written
--          {0}                     another end stands
--          {5, layout}, {10, error} as in promise
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local function finish(job, runs, slot, record, own)
  local open = redis.pcall('HMGET', job, 'o:' .. slot, 'x:' .. slot)
  if open.err then
    return {10, open.err}
  end
  local old = open[1] or open[2] or redis.pcall('HGET', runs, slot)
  if type(old) == 'table' then
    return {10, old.err}
  end
  local run, attempt, _, state, layout = parts(old)
  if old and layout ~= '1' then
    return {5, layout or old}
  end
  local mine, nth, _, is = parts(record)
  local won = own == '1' and is ~= 'missed' and is ~= 'lost'
  if run and (attempt > nth or attempt == nth and run ~= mine and not (won and state == 'claimed') or
    own == '0' and (run ~= mine or state ~= 'claimed')) then
    return {0}
  end
  put(job, runs, slot, record, is)
  return {1}
end

local answers = {now}
for i = 1, #KEYS / 2 do
  answers[i + 1] = finish(KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i])
end
return answers
