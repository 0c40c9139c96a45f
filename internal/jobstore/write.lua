-- write: stores the states of jobs, each as a whole
-- KEYS     ..., names, then the runs of each job, whose key ends with its name
-- ARGV     ..., ballot, seq (8 digits), where the name begins in these keys, then for each job: ballot and seq of the entry that
--          this one follows, or spaces (34), and the entry from its mark on; its records, the newest last
-- returns  w, and an item for each job: y: it is stored, now or before; l and a seq: a later entry is stored; a: the mark is ahead
--          of the clock
--          or r, header: a larger ballot was promised; u: there was no prepare in this incarnation; a, s: as in prepare
-- An entry is TAG BALLOT SEQ MARK RECORDS STATE: tag (28), ballot (26), seq (8), mark (13), number of records that came with it (2),
-- and the state. If the present entry is newer than the one that the new entry follows, too few servers have stored it: its records are
-- removed with it.
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
for i = 4, #KEYS do
  names[i - 3] = sub(KEYS[i], from)
end
local found = redis.call('HMGET', jobs, unpack(names))
local place, last = tag .. ballot, string.format('%013d', math.floor((now + ahead) / 1000))
local n, i = #set, 7
for job, name in ipairs(names) do
  local entry, new = found[job], ARGV[i]
  local records = tonumber(sub(new, 48, 49))
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
    if entry and sub(entry, 29, 62) > sub(new, 1, 34) and sub(entry, 76, 77) ~= '00' then
      history('LTRIM', KEYS[3 + job], tonumber(sub(entry, 76, 77)), -1) -- the server accepts no number with a leading zero
    end
    if records > 0 and history('LPUSH', KEYS[3 + job], unpack(ARGV, i + 1, i + records)) > 60 then
      history('LTRIM', KEYS[3 + job], 0, 49)
    end
  end
  items[job + 1] = item
  i = i + 1 + records
end
if n > 0 then
  redis.call('HSET', jobs, unpack(set))
end
if news[1] then
  redis.call('ZADD', KEYS[3], unpack(news))
end
return answer()
