-- finish: write a record's end
-- A run's own end stands over what others said of it, and over the records of earlier attempts.
-- KEYS     runs
-- ARGV     lane and tick, record, whether it is the run's own (1) or what another says of it (0)
-- returns  {time, 1}               written
--          {time, 0}               another end stands
--          {time, 10, error}       there is something else
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]

local function parts(record)
  local run, attempt, _, state = string.match(record or '', '^1:([^:]*):(%d+):(%d+):([^:]*):')
  return run, tonumber(attempt), state
end

local old = redis.pcall('HGET', KEYS[1], ARGV[1])
if type(old) == 'table' then
  return {now, 10, old.err}
end
local run, attempt, state = parts(old)
local mine, nth = parts(ARGV[2])
local stands = run and (attempt > nth or attempt == nth and run ~= mine or
  ARGV[3] == '0' and (run ~= mine or state ~= 'claimed'))
if stands then
  return {now, 0}
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], '34560000000')
return {now, 1}
