-- acquire: grant locks that are free, each with its next number
-- KEYS     hash of the prefix
-- ARGV     list, in the guard's format;
--          flags: b accepts a server that hides its identity, g forces a check of the guard and updates its fields;
--          then for each lock: field, value, ttl (ms), not after (µs), and who waits for it, or nothing: 12 characters,
--          and for how many ms it will wait at most
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item; without an IDENTITY if another value holds every lock:
--          yNUMBER          granted; the same value is granted again, with the same number
--          hLEFT/PLACE and text  held by that value, for LEFT ms; the place in line, from 0
--          uLEFT and text   the same, but the holder's last extension was not confirmed by a majority
--          qLEFT/PLACE      free, but for LEFT ms for those ahead in line
--          gLEFT/LONGEST    guarded, for LEFT ms; LONGEST is the longest lease known (ms)
--          lNODES           the prefix is in use with lists of NODES nodes
--          t                too late, nothing was done
--          b                the server hides its identity
--          e and text       this library did not write the record or the hash; nothing was done
--          e1 and text      its number cannot have been reached by counting; nothing was done
-- A record is NUMBER SINCE DEADLINE VALUE, the first three with 16 digits each: the fencing number, the start of the
-- guard under which it was counted, the deadline by this server's clock (µs), and the holder, or nothing if it was
-- released. The record outlives the hold, to keep the number. If the holder's last extension was not confirmed, the
-- space before the value is a ? instead.
-- The line of a lock is a field of its own: for each process that waits, 12 characters, and until when (16 digits, µs by
-- this server's clock) it promises to be there. Who is refused is appended, or its promise renewed; entries that have
-- passed are dropped. A free lock is for place k from k x 10 ms after its release on.
-- Most calls are for one lock and have no flags; some lines below handle that case separately because it is cheaper.
local t = redis.call('TIME')
local now, hash, list, flags, sub = t[1] * 1000000 + t[2], KEYS[1], ARGV[1], ARGV[2], string.sub
local update = flags ~= '' and string.find(flags, 'g', 1, true)
local anonymous = flags ~= '' and string.find(flags, 'b', 1, true)
local readonly = false

local fields, n = {'g', ARGV[3]}, 2
for i = 8, #ARGV, 5 do
  n = n + 1
  fields[n] = ARGV[i]
end
local lists, lines, m = nil, {}, n
local first, last = string.format('%016d', now), string.format('%016d', now + 86400000000)
for i = 2, n do
  if ARGV[5 * i - 3] ~= '' then
    lists, m = lists or {}, m + 1
    fields[m] = 'l:' .. sub(fields[i], 3)
    lists[i] = m
  end
end
local found = m == 2 and redis.call('HMGET', hash, 'g', fields[2]) or redis.call('HMGET', hash, unpack(fields))
local guard, identity, items, texts, changes, open, granting = found[1], nil, {'', false}, {}, nil, update, false
for i = 2, n do
  local record, value = found[i], ARGV[5 * i - 6]
  local deadline = record and tonumber(sub(record, 35, 50))
  if record and not deadline then
    items[i] = 'e'
    texts[i] = 'this library did not write the record ' .. sub(record, 1, 60)
  elseif record and now < deadline then
    local holder = sub(record, 52)
    if holder ~= '' and holder ~= value then
      -- A value left by an earlier attempt of the same acquisition is replaced; any other value holds the lock. A value
      -- starts with 26 characters that are new for each acquisition, and a colon: usually they alone decide.
      local mine = sub(holder, 1, 27) == sub(value, 1, 27)
      if not mine or tonumber(string.match(holder, ':(%d+):')) >= tonumber(string.match(value, ':(%d+):')) then
        items[i] = string.format(sub(record, 51, 51) == '?' and 'u%d' or 'h%d', math.ceil((deadline - now) / 1000))
        texts[i] = holder
      end
    end
  end
  local free = not record and 0 or not deadline and now or deadline
  if lists and lists[i] then
    local who, text = ARGV[5 * i - 3], found[lists[i]] or ''
    local id, at, k = sub(who, 1, 12), 1, nil
    while at + 27 <= #text do
      local promise = sub(text, at + 12, at + 27) -- compared as text: both have 16 digits
      if promise <= first or promise > last then
        text = sub(text, 1, at - 1) .. sub(text, at + 28)
      else
        if not k and sub(text, at, at + 11) == id then
          k = at
        end
        at = at + 28
      end
    end
    text = sub(text, 1, math.min(at - 1, 28000))
    local place = ((k or at) - 1) / 28
    lines[i] = {text = text, at = k, id = id, place = place, patience = tonumber(sub(who, 13)) or 0}
    local since = now - free
    if not items[i] and since >= 0 and since < place * 10000 then
      items[i] = string.format('q%d', math.ceil((place * 10000 - since) / 1000))
    end
  end
  open = open or not items[i]
end

if open then
  -- include guard
  changes = {}
  for i = 2, n do
    if not items[i] then
      local record, value, notafter = found[i], ARGV[5 * i - 6], ARGV[5 * i - 4]
      local number = record and tonumber(sub(record, 1, 16)) or 0
      if refusal then
        items[i] = refusal
        texts[i] = reason
      elseif record and sub(record, 52) == value and now < tonumber(sub(record, 35, 50)) then
        items[i] = string.format('y%d', number)
      elseif now > tonumber(notafter) then
        items[i] = 't'
      elseif not (number >= 0 and number <= now + 86400000000) then -- also true for NaN
        -- Numbers start from clocks and grow by one, so either the number or the clock is wrong.
        items[i] = 'e1'
        texts[i] = 'the number ' .. sub(record, 1, 16) .. ' is more than a day ahead of the clock, or below zero'
      else
        number = number + 1
        if not record or sub(record, 18, 33) ~= since then
          -- The record is gone or older than the guard, so numbers may be lost. No lost number was above the clock, and
          -- with a guard none is more recent than the longest lease. So the seed can be rounded down to a multiple of
          -- 1/64 of the longest lease: nodes whose clocks differ by less usually get equal numbers.
          number = math.max(number, now - now % math.max(math.floor(kept * 1000 / 64), 1))
        end
        local granted = string.format('%016d %s %016d ', number, since, now + ARGV[5 * i - 5] * 1000) .. value
        changes[#changes + 1] = fields[i]
        changes[#changes + 1] = granted
        items[i] = 'y' .. sub(granted, 1, 16)
        granting = true
      end
    end
  end
end

for i, m in pairs(lists or {}) do
  -- The line is only a hint: an error here does not prevent an answer.
  local code, line = sub(items[i], 1, 1), lines[i]
  local text, at = line.text, line.at
  if code == 'y' then
    text = at and sub(text, 1, at - 1) .. sub(text, at + 28) or text
  elseif code == 'h' or code == 'u' or code == 'q' or code == 'g' then
    -- It asks the nodes of the line in turns, each time at the end of the hold that it knows of.
    local left = tonumber(string.match(items[i], '^.(%d+)')) + (tonumber(sub(guard or '', 78, 89)) or 60000) + 10 * line.place + 1000
    local entry = line.id .. string.format('%016d', now + math.min(left, line.patience) * 1000)
    text = at and sub(text, 1, at - 1) .. entry .. sub(text, at + 28) or text .. entry
    if code ~= 'g' then
      items[i] = items[i] .. '/' .. line.place
    end
  end
  if text == '' and found[m] then
    redis.pcall('HDEL', hash, fields[m])
  elseif text ~= (found[m] or '') then
    changes = changes or {}
    changes[#changes + 1] = fields[m]
    changes[#changes + 1] = text
  end
end
if granting then
  if changes[3] then
    redis.call('HSET', hash, unpack(changes))
  else
    redis.call('HSET', hash, changes[1], changes[2])
  end
elseif changes and changes[1] then
  redis.pcall('HSET', hash, unpack(changes))
end

-- include answer
