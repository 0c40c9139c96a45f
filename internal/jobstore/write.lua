-- write: stores the states of jobs, each as a whole
-- KEYS     ..., names, then the runs of each job
-- ARGV     ..., ballot, seq (8 digits), then for each job: name; mark (ms, 13 digits); its pause, or ''; o if it opens a
--          tick, else -; state; number of records; records, the newest last
-- returns  w, and an item for each job: y: it is stored, now or before; l: a later one is; p and a text: a newer pause
--          stands; a: the mark is ahead of the clock
--          or r, header: a larger ballot was promised; u: there was no prepare in this incarnation; a, s: as prepare returns them
-- An entry is TAG BALLOT SEQ MARK PAUSE KIND STATE: tag (28), ballot (26), seq (8), mark (13), version of the pause (22),
-- kind (1), and the state.
local ballot, seq = ARGV[4], ARGV[5]
if began then
  items[1] = 'u' .. string.format('%d', now - began)
  return answer()
end
local at, promised = tonumber(sub(ballot, 1, 16)), sub(header, 33, 58)
local age = string.format('%d', now - tonumber(marker))
if at > now + ahead then
  items[1] = 'a' .. age
  return answer()
elseif at <= tonumber(marker) + ahead then
  items[1] = 's' .. age
  return answer()
elseif promised > ballot then
  items[1], texts[1] = 'r' .. age, header
  return answer()
end
items[1] = 'w' .. age

local set, names, news, i, job = {}, {}, {}, 6, 0
if promised ~= ballot or tonumber(sub(header, 74, 89)) + 1000000 < now then
  set = {'g', sub(header, 1, 32) .. ballot .. sub(header, 59, 73) .. string.format('%016d', now) .. sub(header, 90)}
end
while ARGV[i] do
  local n = #names
  names[n + 1], names[n + 2] = 'j:' .. ARGV[i], 'p:' .. ARGV[i]
  i = i + 6 + ARGV[i + 5]
end
local found = redis.call('HMGET', jobs, unpack(names))
i = 6
while ARGV[i] do
  local name, mark, pause, kind, state, records = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local entry, set_pause = found[2 * job + 1], believed(found[2 * job + 2])
  local item
  job = job + 1
  if entry and sub(entry, 1, 28) == tag and sub(entry, 29, 54) == ballot and sub(entry, 55, 62) >= seq then
    item = sub(entry, 55, 62) == seq and 'y' or 'l'
  elseif tonumber(mark) * 1000 > now + ahead then
    item = 'a'
  elseif kind == 'o' and set_pause and sub(set_pause, 24, 24) == '1' and sub(set_pause, 1, 22) > sub(pause, 1, 22) then
    item = 'p'
    texts[#texts + 1] = set_pause
  else
    item = 'y'
    set[#set + 1] = 'j:' .. name
    set[#set + 1] = tag .. ballot .. seq .. mark .. (pause == '' and string.rep('0', 22) or sub(pause, 1, 22)) .. kind .. state
    if not entry then
      news[#news + 1] = 0
      news[#news + 1] = name
    end
    if pause ~= '' and (not set_pause or sub(set_pause, 1, 22) < sub(pause, 1, 22)) then
      set[#set + 1] = 'p:' .. name
      set[#set + 1] = pause
    end
    if tonumber(records) > 0 then
      local runs = {}
      for k = 1, tonumber(records) do
        runs[k] = ARGV[i + 5 + k]
      end
      if redis.call('LPUSH', KEYS[3 + job], unpack(runs)) > 60 then
        redis.call('LTRIM', KEYS[3 + job], 0, 49)
      end
    end
  end
  items[job + 1] = item
  i = i + 6 + records
end
if set[1] then
  redis.call('HSET', jobs, unpack(set))
end
if news[1] then
  redis.call('ZADD', KEYS[3], unpack(news))
end
return answer()
