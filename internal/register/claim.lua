-- claim: vote for a run of a tick
-- KEYS     guard, then for each claim: job, runs
-- ARGV     longest ttl (ms; 0: no guard), nodes in the list, token, then for each claim: lane, tick, run, attempt,
--          record, pause, missed; and in the end the name of the memory in which the token was promised
-- returns  {time, answer...}, one for each claim; or {time, 3, nodes}, {time, 5, layout} as acquire does
--          {1}                     yes; also to a vote of the same run that was given before
--          {0, mark, token, record} taken, or jumped over: the mark is as high; by a claim with that token (0: the
--                                  node was admitted since); and the tick's record, if any
--          {6, '', name, left}     unknown, as in promise
--          {7, token}              promised to a larger token
--          {8, pause}              paused
--          {9}                     too far ahead of the node's clock
--          {5, layout}, {10, error} as in promise
local instead, name, left = memory(KEYS[1], ARGV[1], ARGV[2])
if instead then
  return instead
end

local cap = 50 -- records that are kept of a job; none without an end is dropped

local function trim(runs)
  if redis.call('HLEN', runs) <= cap + 10 then
    return
  end
  local ended, all = {}, redis.call('HGETALL', runs)
  for i = 1, #all, 2 do
    local _, _, _, state = parts(all[i + 1])
    if state ~= 'claimed' then
      local at = tonumber(string.sub(all[i], 2))
      ended[#ended + 1] = {string.sub(all[i], 1, 1) == 'm' and at / 1000 or at, all[i]}
    end
  end
  table.sort(ended, function(a, b) return a[1] < b[1] end)
  for i = 1, math.min(#ended, #all / 2 - cap) do
    redis.call('HDEL', runs, ended[i][2])
  end
end

local function claim(job, runs, lane, tick, run, attempt, record, pause, missed)
  local p = lane == 'm' and 'm' or ''
  local h = redis.pcall('HMGET', job, 'layout', 'under', 'term', p .. 'mark', p .. 'by', p .. 'admitted', 'pause', 'missed')
  if h.err then
    return {10, h.err}
  end
  if h[1] and h[1] ~= '1' then
    return {5, h[1]}
  end
  if h[2] ~= name or ARGV[#ARGV] ~= name then
    return {6, '', name, left}
  end
  if newer(pause, h[7]) then
    redis.call('HSET', job, 'pause', pause)
    h[7] = pause
  end
  local old = redis.call('HGET', runs, lane .. tick)
  local by, attempted, token, state = parts(old)
  if by == run and attempted == tonumber(attempt) then
    return {1}
  end
  if tonumber(h[3]) > tonumber(ARGV[3]) then
    return {7, tonumber(h[3])}
  end
  if lane == 't' and string.sub(h[7], -2) == ':1' then
    return {8, h[7]}
  end
  local at, mark = tonumber(tick), tonumber(h[4])
  if (lane == 't' and at * 1000 or at) > now + ahead then
    return {9}
  end
  if attempt == '1' then
    if at <= mark then
      return {0, mark, token or tonumber(h[5]), old or ''}
    end
  elseif old then
    if state ~= 'claimed' or attempted >= tonumber(attempt) then
      return {0, mark, token, old}
    end
  elseif at <= tonumber(h[6]) then
    return {0, mark, 0, ''}
  end
  redis.call('HSET', runs, lane .. tick, record)
  redis.call('HSET', job, 'term', ARGV[3])
  if tonumber(missed) > tonumber(h[8]) then
    redis.call('HSET', job, 'missed', missed)
  end
  if at > mark then
    redis.call('HSET', job, p .. 'mark', tick, p .. 'by', ARGV[3])
  end
  keep(job, runs)
  trim(runs)
  return {1}
end

local answers = {now}
for i = 1, (#KEYS - 1) / 2 do
  local a = 7 * i - 4
  answers[i + 1] = claim(KEYS[2 * i], KEYS[2 * i + 1], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4],
    ARGV[a + 5], ARGV[a + 6], ARGV[a + 7])
end
return answers
