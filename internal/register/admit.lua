-- admit: have a node that does not know the jobs know them, and vote on ticks after the present
-- What it had before stays where it is the larger or newer, but for records without an end: others may have
-- followed them.
-- KEYS     hash, names, then for each job: job, runs
-- ARGV     list, flags, name of the memory that did not know them, token,
--          then for each job: name, since (µs), plan, planned (µs), mark (ms), manual mark (µs), pause, trigger,
--          missed, records {lane and tick, record, ...} as JSON: those with an end, and those that others have without
-- returns  {time, 1, mark, manual mark...} admitted, with both marks (ms, µs) of each; also those that were known before; -1: not
--          {time, 6, '', name, left} the node remembers otherwise by now
local instead, name, left = memory()
if instead then
  return instead
end
if name ~= ARGV[3] then
  return {now, 6, '', name, left}
end

local function larger(a, b)
  return string.format('%d', math.max(tonumber(a or '0'), tonumber(b or '0')))
end

local answers = {now, 1}
for i = 1, (#KEYS - 2) / 2 do
  local job, runs, a = KEYS[2 * i + 1], KEYS[2 * i + 2], 10 * i - 6
  local h = redis.call('HMGET', job, 'under', 'term', 'mark', 'mmark', 'pause', 'trigger', 'missed', 'since', 'layout')
  if h[9] and h[9] ~= '1' then
    answers[2 * i + 1], answers[2 * i + 2] = -1, -1
  elseif h[1] == name then
    answers[2 * i + 1], answers[2 * i + 2] = tonumber(h[3]), tonumber(h[4])
  else
    local mark = larger(larger(h[3], ARGV[a + 5]), string.format('%d', math.ceil((now + ahead) / 1000)))
    local manual = larger(larger(h[4], ARGV[a + 6]), string.format('%d', now + ahead))
    local since = h[8] and tonumber(h[8]) < tonumber(ARGV[a + 2]) and h[8] or ARGV[a + 2]
    redis.call('HSET', job, 'layout', '1', 'under', name, 'term', larger(h[2], ARGV[4]),
      'since', since, 'plan', ARGV[a + 3], 'planned', ARGV[a + 4],
      'mark', mark, 'by', '0', 'admitted', mark, 'mmark', manual, 'mby', '0', 'madmitted', manual,
      'pause', newer(h[5], ARGV[a + 7]) and h[5] or ARGV[a + 7],
      'trigger', newer(h[6], ARGV[a + 8]) and h[6] or ARGV[a + 8],
      'missed', larger(h[7], ARGV[a + 9]))
    for _, field in ipairs(redis.call('HKEYS', job)) do
      if string.sub(field, 1, 2) == 'o:' or string.sub(field, 1, 2) == 'x:' then
        redis.call('HDEL', job, field)
      end
    end
    local records = cjson.decode(ARGV[a + 10])
    for r = 1, #records, 2 do
      local _, had, _, state = parts(redis.call('HGET', runs, records[r]))
      local _, given, _, is = parts(records[r + 1])
      if is == 'claimed' then -- after those with an end, which stand over it
        if not had or given > had then
          redis.call('HSET', job, 'x:' .. records[r], records[r + 1])
        end
      elseif not had or given > had or given == had and state == 'lost' and is ~= 'lost' then
        redis.call('HSET', runs, records[r], records[r + 1])
      end
    end
    redis.call('ZADD', KEYS[2], 0, ARGV[a + 1])
    redis.call('PEXPIRE', KEYS[2], fade)
    redis.call('PEXPIRE', job, fade)
    redis.call('PEXPIRE', runs, fade)
    answers[2 * i + 1], answers[2 * i + 2] = tonumber(mark), tonumber(manual)
  end
end
return answers
