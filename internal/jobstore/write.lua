-- write: stores the states of jobs, each as a whole
-- KEYS     ..., names, then the runs of each job
-- ARGV     ..., ballot, seq (8 digits), then for each job: name; ballot and seq of the entry that this one follows, or ''; the
--          entry from its mark on; its pause, or ''; number of records; records, the newest last
-- returns  w, and an item for each job: y: it is stored, now or before; l: a later one is; p and a text: a newer pause
--          stands; a: the mark is ahead of the clock
--          or r, header: a larger ballot was promised; u: there was no prepare in this incarnation; a, s: as prepare returns them
-- An entry is TAG BALLOT SEQ MARK PAUSE KIND RECORDS STATE: tag (28), ballot (26), seq (8), mark (13), version of the pause (22),
-- kind (1; o: it opens a tick, else -), number of records that came with it (2), and the state. An entry that stands and is newer
-- than the one that the new one follows was stored by too few servers: its records go with it.
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

local set, names, news, n, i = {}, {}, {}, 0, 6
if promised ~= ballot or tonumber(sub(header, 74, 89)) + 1000000 < now then
  local settled = promised == ballot and sub(header, 91, 91) or '0'
  set = {'g', sub(header, 1, 32) .. ballot .. sub(header, 59, 73) .. string.format('%016d ', now) .. settled .. sub(header, 92)}
end
while ARGV[i] do
  names[n + 1], names[n + 2] = 'j:' .. ARGV[i], 'p:' .. ARGV[i]
  n, i = n + 2, i + 5 + ARGV[i + 4]
end
local found = redis.call('HMGET', jobs, unpack(names))
local place, last = tag .. ballot, string.format('%013d', (now + ahead) / 1000)
i = 6
for job = 1, n / 2 do
  local follows, rest, pause, records = ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4])
  local entry, set_pause = found[2 * job - 1], found[2 * job]
  set_pause = set_pause and believed(set_pause)
  local item = 'y'
  if entry and sub(entry, 1, 54) == place and sub(entry, 55, 62) >= seq then
    item = sub(entry, 55, 62) == seq and 'y' or 'l'
  elseif sub(rest, 1, 13) > last then
    item = 'a'
  elseif set_pause and sub(rest, 36, 36) == 'o' and sub(set_pause, 24, 24) == '1'
    and sub(set_pause, 1, 22) > sub(rest, 14, 35) then
    item = 'p'
    texts[#texts + 1] = set_pause
  else
    set[#set + 1] = names[2 * job - 1]
    set[#set + 1] = place .. seq .. rest
    if not entry or sub(entry, 1, 54) ~= place then -- the first under this ballot; the name may be lost
      news[#news + 1] = 0
      news[#news + 1] = ARGV[i]
    end
    if pause ~= '' and (not set_pause or sub(set_pause, 1, 22) < sub(pause, 1, 22)) then
      set[#set + 1] = names[2 * job]
      set[#set + 1] = pause
    end
    if entry and sub(entry, 29, 62) > follows and sub(entry, 99, 100) ~= '00' then
      redis.call('LTRIM', KEYS[3 + job], tonumber(sub(entry, 99, 100)), -1) -- the server takes no number with a leading zero
    end
    if records > 0 and redis.call('LPUSH', KEYS[3 + job], unpack(ARGV, i + 5, i + 4 + records)) > 60 then
      redis.call('LTRIM', KEYS[3 + job], 0, 49)
    end
  end
  items[job + 1] = item
  i = i + 5 + records
end
if set[1] then
  redis.call('HSET', jobs, unpack(set))
end
if news[1] then
  redis.call('ZADD', KEYS[3], unpack(news))
end
return answer()
