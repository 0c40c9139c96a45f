-- acquire: grant locks that are free, each with its next number
-- KEYS     hash of the prefix
-- ARGV     list, in the guard's format;
--          flags: b accepts a server that hides its identity, g forces a check of the guard and updates its fields;
--          then for each lock: field, value, ttl (ms), not after (µs), and the waiter to list if refused, or
--          nothing. The waiter is a sign and 12 characters: - appends it, + puts it first, ? appends it and refuses the
--          lock if another waiter was just notified, and = removes it from the list
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item; without an IDENTITY if another value holds every lock:
--          yNUMBER          granted; the same value is granted again, with the same number
--          hLEFT and text   held by that value, for LEFT ms
--          uLEFT and text   the same, but the holder's last extension was not confirmed by a majority
--          qWAITING         free, but the first waiter was just notified; WAITING others wait
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
-- The waiters of a lock are in a field of their own: when it was last changed (16 digits); ! if the first waiter was then
-- notified that the lock is free and nobody has had it since, or a space; and 12 characters for each waiter.
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
local lists, m = nil, n
for i = 2, n do
  if ARGV[5 * i - 3] ~= '' then
    lists, m = lists or {}, m + 1
    fields[m] = 'w:' .. sub(fields[i], 3)
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
  if not items[i] and lists and sub(ARGV[5 * i - 3], 1, 1) == '?' and sub(record or '', 52) ~= value then
    -- Give the notified waiter 10 ms to ask. If it is gone, nobody waits longer than that.
    local waiting = found[lists[i]] or ''
    local notified = tonumber(sub(waiting, 1, 16)) or 0
    if sub(waiting, 17, 17) == '!' and notified <= now and now < notified + 10000 then
      items[i] = string.format('q%d', (#waiting - 17) / 12)
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
  -- A waiter that is granted the lock is removed. The lists are only hints: an error here does not prevent an answer.
  local waiting, place, id, code = found[m] or '', sub(ARGV[5 * i - 3], 1, 1), sub(ARGV[5 * i - 3], 2), sub(items[i], 1, 1)
  local head, ids, changed = sub(waiting, 1, 17), sub(waiting, 18), tonumber(sub(waiting, 1, 16)) or 0
  local at = string.find(ids, id, 1, true)
  if code == 'y' or sub(head, 17) ~= '!' or now < changed or now >= changed + 10000 then
    head = string.format('%016d ', now)
  end
  if at and (code == 'y' or place == '=') then
    ids = sub(ids, 1, at - 1) .. sub(ids, at + 12)
  elseif code ~= 'y' and code ~= 'e' and not at and place ~= '=' then
    ids = sub(ids, 1, #ids - #ids % 12)
    ids = place == '+' and id .. ids or sub(ids, #ids >= 12000 and 13 or 1) .. id
  end
  -- A list in use is rewritten once per longest lease, so that the sweep keeps it.
  local old = now > changed + (tonumber(sub(guard or '', 78, 89)) or 60000) * 1000
  if ids ~= sub(waiting, 18) or waiting ~= '' and (sub(waiting, 17, 17) ~= sub(head, 17) or old) then
    changes = changes or {}
    changes[#changes + 1] = fields[m]
    changes[#changes + 1] = head .. ids
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
