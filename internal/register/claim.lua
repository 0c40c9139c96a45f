-- claim: vote for a run of a tick
-- KEYS     hash, then for each claim: job, runs
-- ARGV     list, flags, token, then for each claim: lane, tick, run, attempt,
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
local instead, name, left = memory()
if instead then
  return instead
end

local function claim(job, runs, lane, tick, run, attempt, record, pause, missed)
  local p, slot, hour = lane == 'm' and 'm' or '', lane .. tick, lane == 'm' and 3600000000 or 3600000
  local h = redis.pcall('HMGET', job, 'layout', 'under', 'term', p .. 'mark', p .. 'by', p .. 'admitted', 'pause',
    'missed', 'o:' .. slot, 'x:' .. slot)
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
  local at, mark = tonumber(tick), tonumber(h[4])
  local old = h[9] or redis.call('HGET', runs, slot)
  local by, attempted, token, state = parts(old)
  -- What a node was told, as it was admitted or by another leader, is no vote of its own.
  local voted = h[9] or state ~= 'lost' and at > tonumber(h[6])
  local _, _, _, is = parts(record)
  if voted and by == run and attempted == tonumber(attempt) then
    if state == 'claimed' and is ~= 'claimed' then -- it is not to be run any more
      put(job, runs, slot, record, is)
    end
    return {1}
  end
  if tonumber(h[3]) > tonumber(ARGV[3]) then
    return {7, tonumber(h[3])}
  end
  if lane == 't' and string.sub(h[7], -2) == ':1' then
    return {8, h[7]}
  end
  if (lane == 't' and at * 1000 or at) > now + ahead then
    return {9}
  end
  if attempt == '1' then
    if at <= mark or old and state ~= 'claimed' then
      return {0, mark, token or tonumber(h[5]), old or h[10] or ''}
    end
  elseif old then
    if state ~= 'claimed' or attempted >= tonumber(attempt) then
      return {0, mark, token, old}
    end
  elseif at <= tonumber(h[6]) then
    return {0, mark, 0, ''}
  end
  put(job, runs, slot, record, is)
  redis.call('HSET', job, 'term', ARGV[3])
  if tonumber(missed) > tonumber(h[8]) then
    redis.call('HSET', job, 'missed', missed)
  end
  if at > mark then
    redis.call('HSET', job, p .. 'mark', tick, p .. 'by', ARGV[3])
  end
  if math.floor(at / hour) > math.floor(mark / hour) then -- not with every tick of many
    redis.call('PEXPIRE', job, fade)
  end
  return {1}
end

local answers = {now}
for i = 1, (#KEYS - 1) / 2 do
  local a = 7 * i - 4
  answers[i + 1] = claim(KEYS[2 * i], KEYS[2 * i + 1], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4],
    ARGV[a + 5], ARGV[a + 6], ARGV[a + 7])
end
return answers
