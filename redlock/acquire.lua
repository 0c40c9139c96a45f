-- acquire: take locks that are free, each with its next number
-- KEYS     hash of the prefix
-- ARGV     list, as guard has it; flags: b accepts a server whose identity cannot be seen, g has the guard looked at in any
--          case and what it notes brought up to date; where to look for old records, at how many, and their retention (ms),
--          or nothing: it is done if anything is granted;
--          then for each lock: field, value, ttl (ms), not after (µs; 0: ever), who is to be listed as waiting if it is
--          refused: - and 12 characters, + and these for the first place, ? and these if who was told just now is to go
--          first, = and these to be listed no more, or nothing
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item:
--          yNUMBER          granted; also to the same value that asks again, as before
--          yNUMBER/OLD and text: the same, and old records were looked for: OLD is one more than were removed, and the text
--                           where to look next, or why they cannot be removed
--          hLEFT and text   held by that value, for so many ms
--          uLEFT and text   the same, but when its holder extended it, it could not confirm that a majority had it
--          qWAITING         free, but the first of those who wait was told of it just now; so many others wait
--          gLEFT/LONGEST    guarded, for so many ms
--          lNODES           lists of so many nodes are in use
--          t                too late, nothing was done
--          b                the server's identity cannot be seen
--          e and text       the record or the hash is none of ours, nothing was done
--          e1 and text      its number is none that anybody can have counted to, nothing was done
-- A record is NUMBER SINCE DEADLINE VALUE, the first three of 16 digits: the fencing number, the guard under which it was
-- counted, the deadline by this server's clock (µs), and who holds the lock; nothing if it was released. It outlives the
-- hold, for the number. Before the value a ? stands for the space where the holder's last extension was not confirmed.
-- Those who wait for a lock are in a field beside it: when it was changed last (16 digits), ! if the first of them was told
-- then that the lock is free and nobody has had it since, or a space; and 12 characters for each.
-- Most calls are of one lock, and have no flags: where that is cheaper, they have their own line.
local t = redis.call('TIME')
local now, hash, list, flags, sub = t[1] * 1000000 + t[2], KEYS[1], ARGV[1], ARGV[2], string.sub
local look = flags ~= '' and string.find(flags, 'g', 1, true)
local blind = flags ~= '' and string.find(flags, 'b', 1, true)
local silent = false

local fields, n = {'g', ARGV[4]}, 2
for i = 9, #ARGV, 5 do
  n = n + 1
  fields[n] = ARGV[i]
end
local lists, m = nil, n
for i = 2, n do
  if ARGV[5 * i - 2] ~= '' then
    lists, m = lists or {}, m + 1
    fields[m] = 'w:' .. sub(fields[i], 3)
    lists[i] = m
  end
end
local found = m == 2 and redis.call('HMGET', hash, 'g', fields[2]) or redis.call('HMGET', hash, unpack(fields))
local guard, items, texts, changes, open, granting = found[1], {'', false}, {}, nil, look, false
for i = 2, n do
  local record, value = found[i], ARGV[5 * i - 5]
  local deadline = record and tonumber(sub(record, 35, 50))
  if record and not deadline then
    items[i] = 'e'
    texts[i] = 'this library did not write the record ' .. sub(record, 1, 60)
  elseif record and now < deadline then
    local holder = sub(record, 52)
    if holder ~= '' and holder ~= value then
      -- What an earlier attempt of the same acquisition left gives way; everything else holds. A value begins with 26
      -- characters that are new for each acquisition, and a colon: mostly they alone tell.
      local mine = sub(holder, 1, 27) == sub(value, 1, 27)
      if not mine or tonumber(string.match(holder, ':(%d+):')) >= tonumber(string.match(value, ':(%d+):')) then
        items[i] = string.format(sub(record, 51, 51) == '?' and 'u%d' or 'h%d', math.ceil((deadline - now) / 1000))
        texts[i] = holder
      end
    end
  end
  if not items[i] and lists and sub(ARGV[5 * i - 2], 1, 1) == '?' and sub(record or '', 52) ~= value then
    -- It is on its way: 10 ms are enough, and if it is gone nobody waits for it longer.
    local waiting = found[lists[i]] or ''
    local told = tonumber(sub(waiting, 1, 16)) or 0
    if sub(waiting, 17, 17) == '!' and told <= now and now < told + 10000 then
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
      local record, value, notafter = found[i], ARGV[5 * i - 5], ARGV[5 * i - 3]
      local number = record and tonumber(sub(record, 1, 16)) or 0
      if refusal then
        items[i] = refusal
        texts[i] = reason
      elseif record and sub(record, 52) == value and now < tonumber(sub(record, 35, 50)) then
        items[i] = string.format('y%d', number)
      elseif notafter ~= '0' and now > tonumber(notafter) then
        items[i] = 't'
      elseif not (number >= 0 and number <= now + 86400000000) then -- it may be no number at all
        -- Numbers start from clocks and grow by one: so far ahead one of the two is wrong.
        items[i] = 'e1'
        texts[i] = 'the number ' .. sub(record, 1, 16) .. ' is more than a day ahead of the clock, or below zero'
      else
        number = number + 1
        if not record or sub(record, 18, 33) ~= since then
          -- The record is gone or older than the guard: numbers may be lost. None was above the clock, and with a guard
          -- none is younger than the longest lease; so the seed can be rounded down by a little of that, and nodes whose
          -- clocks differ by less still count alike.
          number = math.max(number, now - now % math.max(math.floor(kept * 1000 / 64), 1))
        end
        local granted = string.format('%016d %s %016d ', number, since, now + ARGV[5 * i - 4] * 1000) .. value
        changes[#changes + 1] = fields[i]
        changes[#changes + 1] = granted
        items[i] = 'y' .. sub(granted, 1, 16)
        granting = true
      end
    end
  end
end

for i, m in pairs(lists or {}) do
  -- Whoever is granted the lock waits no more. All of this is a hint, and does not keep a node from answering.
  local waiting, place, id, code = found[m] or '', sub(ARGV[5 * i - 2], 1, 1), sub(ARGV[5 * i - 2], 2), sub(items[i], 1, 1)
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
  -- What is used is kept, see below: it says so once in a longest lease.
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

if ARGV[3] ~= '' and granting then
  -- Some records, those that come next, if nobody needs them any more: of holds that ended longer ago than the retention.
  -- Where most are of these, some more.
  local cursor, looks, retention = string.match(ARGV[3], '^(%d+) (%d+) (%d+)$')
  -- Another client, with longer leases, may begin its numbers earlier by a part of these.
  local longest, nodes = guard and tonumber(sub(guard, 78, 89)) or 0, guard and tonumber(sub(guard, 91, 93)) or 0
  local before = now - math.max(retention, 2 * longest) * 1000
  local looked, removed, turns, failure = 0, 0, 0, nil
  repeat
    local page = redis.pcall('HSCAN', hash, cursor, 'COUNT', 32)
    local some, old = page[2] or {}, {}
    for i = 1, #some, 2 do
      local kind, deadline = sub(some[i], 1, 2), nil
      if kind == 'n:' then
        deadline = tonumber(sub(some[i + 1], 35, 50))
      elseif kind == 'w:' then
        -- Whoever waits asks one node after the other, once in a lease.
        deadline = (tonumber(sub(some[i + 1], 1, 16)) or 0) + longest * nodes * 1000
      end
      if deadline and deadline < before and #old < 1000 then
        old[#old + 1] = some[i]
      end
    end
    local done = old[1] and redis.pcall('HDEL', hash, unpack(old))
    failure = page.err or type(done) == 'table' and done.err
    -- A page may be empty, or a little more than asked for.
    cursor, looked, removed = page[1] or '0', looked + math.max(#some / 2, 8), removed + #old
    turns = cursor == '0' and turns + 1 or turns
  until failure or turns == 2 or looked >= 128 or looked >= tonumber(looks) and #old < 16
  for i = 2, n do
    if sub(items[i], 1, 1) == 'y' then
      items[i] = items[i] .. '/' .. (removed + 1)
      texts[i] = failure or cursor
      break
    end
  end
end

-- include identity
-- include answer
