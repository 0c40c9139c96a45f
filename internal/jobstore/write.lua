-- write: stores the states of jobs, each as a whole
-- KEYS     ..., hash of requests, names, then the runs of each job, whose key ends with its name
-- ARGV     ..., ballot, seq (8 digits), where the name begins in these keys, then for each job: ballot and seq of the entry that
--          this one follows, or spaces (34), and the entry from its mark on; its records, the newest last
-- returns  w, and an item for each job: y: it is stored, now or before; l and a seq: a later entry is stored; a: the mark is ahead
--          of the clock
--          or r, header: a larger ballot was promised; u: there was no prepare in this incarnation; a, s: as in prepare
-- An entry is TAG BALLOT SEQ MARK PAUSE TRIGGER RECORDS STATE: tag (28), ballot (26), seq (8), mark (13), versions of the newest
-- pause and of the newest trigger that the state knows (16 each; zeros: there is none), number of records that came with it (2), and
-- the state. Requests up to these versions are applied, and deleted. If the present entry is newer than the one that the new entry
-- follows, too few servers have stored it: its records are removed with it.
local ballot, seq = ARGV[4], ARGV[5]
if began then
  items[1] = 'u' .. string.format('%d', now - began)
  return answer()
end
local at, promised = tonumber(sub(ballot, 7, 22)), sub(header, 33, 58)
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

-- history changes a job's list of runs. If the key is not a list, the job has no history on this server; other jobs are unaffected.
local function history(...)
  local done = redis.pcall(...)
  if type(done) == 'table' and done.err and not string.find(done.err, 'WRONGTYPE', 1, true) then
    done = redis.call(...)
  end
  return tonumber(done) or 0
end

local set, names, news, from = {}, {}, {}, tonumber(ARGV[6])
if promised ~= ballot or quiet() then
  local settled = promised == ballot and sub(header, 91, 91) or '0'
  set = {'', sub(header, 1, 32) .. ballot .. sub(header, 59, 73) .. string.format('%016d ', now) .. settled .. sub(header, 92)}
end
for i = 5, #KEYS do
  names[i - 4] = sub(KEYS[i], from)
end
local found, asked = redis.call('HMGET', jobs, unpack(names)), requests(names)
local place, last = tag .. ballot, string.format('%013d', (now + ahead) / 1000)
local n, i = #set, 7
for job, name in ipairs(names) do
  local entry, new, pause, trigger = found[job], ARGV[i], asked[2 * job - 1], asked[2 * job]
  local records = tonumber(sub(new, 80, 81))
  local item = 'y'
  if entry and sub(entry, 1, 54) == place and sub(entry, 55, 62) >= seq then
    item = sub(entry, 55, 62) == seq and 'y' or 'l' .. (string.match(sub(entry, 55, 62), '^%d+$') or '99999999')
  elseif sub(new, 35, 47) > last then
    item = 'a'
  else
    set[n + 1], set[n + 2], n = name, place .. seq .. sub(new, 35), n + 2
    if not entry or sub(entry, 1, 54) ~= place then -- the first entry under this ballot; the name may be lost
      news[#news + 1] = 0
      news[#news + 1] = name
    end
    -- a request of the future was made before the clock was set back; the leader knows whether it is applied
    if pause and (not believed(pause) or sub(pause, 1, 16) <= sub(new, 48, 63)) then
      redis.call('HDEL', KEYS[3], 'p:' .. name)
    end
    if trigger and (not believed(trigger) or sub(trigger, 1, 16) <= sub(new, 64, 79)) then
      redis.call('HDEL', KEYS[3], 't:' .. name)
    end
    if entry and sub(entry, 29, 62) > sub(new, 1, 34) and sub(entry, 108, 109) ~= '00' then
      history('LTRIM', KEYS[4 + job], tonumber(sub(entry, 108, 109)), -1) -- the server accepts no number with a leading zero
    end
    if records > 0 and history('LPUSH', KEYS[4 + job], unpack(ARGV, i + 1, i + records)) > 60 then
      history('LTRIM', KEYS[4 + job], 0, 49)
    end
  end
  items[job + 1] = item
  i = i + 1 + records
end
if n > 0 then
  redis.call('HSET', jobs, unpack(set))
end
if news[1] then
  redis.call('ZADD', KEYS[4], unpack(news))
end
return answer()
