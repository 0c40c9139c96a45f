-- acquire: grant locks that are free, each with its next number
-- KEYS     hash of the prefix
-- ARGV     list, in the guard's format;
--          b to accept a server that hides its identity;
--          then for each lock: field, value, ttl (ms), not after (µs), and who waits for it, or nothing: 12 characters,
--          and for how many ms it will wait at most
-- returns  SECONDS MICROSECONDS IDENTITY.LABEL, and for each lock an item; without an IDENTITY if another value holds every lock:
--          yNUMBER          granted; the same value is granted again, with the same number
--          hLEFT/PLACE and text  held by that value, for LEFT ms; the place in line, from 0
--          uLEFT and text   the same, but the holder's last extension was not confirmed by a majority
--          qLEFT/PLACE      free, but for LEFT ms for those ahead in line
--          gLEFT/LONGEST    guarded, for LEFT ms; LONGEST is the longest lease known (ms)
--          lNODES           the server is joined in another list, of NODES nodes; 0: in none
--          t                too late, nothing was done
--          b                the server hides its identity
--          e and text       this library did not write the record or the hash; nothing was done
--          e1 and text      its number is too large to count on; nothing was done
-- A record is NUMBER SINCE DEADLINE VALUE, the first three with 16 digits each: the fencing number, the start of the
-- guard under which it was counted, the deadline by this server's clock (µs), and the holder, or nothing if it was
-- released. The record outlives the hold, to keep the number. If the holder's last extension was not confirmed, the
-- space before the value is a ? instead. A deadline that is further away than twice the longest lease was written before
-- the clock was set back: it is brought forward to the end of the longest lease, as if that began now. That is not too early
-- unless the clock is then stepped forward.
-- The line of a lock is a field of its own: for each process that waits, 12 characters, and until when (16 digits, µs by
-- this server's clock) it promises to be there. Who is refused is appended, or its promise renewed; entries that have
-- passed are dropped. A free lock is for place k from k x 10 ms after its release on.
-- If the guard was not used for a second, it is checked even if every lock is held: so it starts, and stays in use.
-- Most calls are for one lock; some lines below handle that case separately because it is cheaper.
local t = redis.call('TIME')
local now, hash, list, sub = t[1] * 1000000 + t[2], KEYS[1], ARGV[1], string.sub
local anonymous, readonly, found = ARGV[2] == 'b', false, nil
if ARGV[8] then
  local fields = {'g', 'h'}
  for i = 3, #ARGV, 5 do
    fields[#fields + 1] = ARGV[i]
    fields[#fields + 1] = ARGV[i + 4] ~= '' and 'l:' .. sub(ARGV[i], 3) or nil
  end
  found = redis.call('HMGET', hash, unpack(fields))
elseif ARGV[7] == '' then
  found = redis.call('HMGET', hash, 'g', 'h', ARGV[3])
else
  found = redis.call('HMGET', hash, 'g', 'h', ARGV[3], 'l:' .. sub(ARGV[3], 3))
end
local guard, identity, items, texts, changes, granting, at = found[1], nil, {}, {}, {}, false, 2
local high = found[2] and tonumber(found[2]) or 0 -- the largest token, if it was ahead of the clock: see extend
if not (high < 9007199254740991) then -- also true for NaN: it is forged
  high = 0
end
local checks, checked -- whether the guard is to be checked although a lock is held; whether it was
local refused, why, start, longest -- what it says to all locks
for i = 3, #ARGV, 5 do
  local field, value, who = ARGV[i], ARGV[i + 1], ARGV[i + 4]
  local item, text, left, granted -- left: for how many ms the hold, the line or the guard refuses
  at = at + 1
  local record = found[at]
  local deadline = record and tonumber(sub(record, 35, 50))
  if record and not deadline then
    item, text = 'e', 'this library did not write the record ' .. sub(record, 1, 60)
  elseif record and now < deadline then
    local holder, ttl = sub(record, 52), ARGV[i + 2] * 1000
    if deadline - now > 2 * ttl and list ~= '' then -- this is cheap, and usually enough
      -- No lease is longer than the longest that guard and caller know, unless it was taken without a guard, or the guard
      -- ignores it: then its longest is a day or more.
      local known = guard and #guard == 120 and sub(guard, 1, 2) == '3 ' and sub(guard, 78, 89) or '999999999999'
      local most = math.max(ttl / 1000, tonumber(known), tonumber(sub(list, 1, 12)))
      if known < '000086400000' and sub(record, 18, 33) > '0000000000000000' and deadline > now + 2000 * most then
        deadline = now + 1000 * most
        record = sub(record, 1, 34) .. string.format('%016d', deadline) .. sub(record, 51)
        changes[#changes + 1] = field
        changes[#changes + 1] = record
      end
    end
    if holder ~= '' and holder ~= value then
      -- A value left by an earlier attempt of the same acquisition is replaced; any other value holds the lock. A value
      -- starts with 26 characters that are new for each acquisition, and a colon: usually they alone decide.
      local mine = sub(holder, 1, 27) == sub(value, 1, 27)
      if not mine or tonumber(string.match(holder, ':(%d+):')) >= tonumber(string.match(value, ':(%d+):')) then
        left = math.ceil((deadline - now) / 1000)
        item, text = (sub(record, 51, 51) == '?' and 'u' or 'h') .. left, holder
      end
    end
  end

  local before, line, id, own, place
  if who ~= '' then
    at = at + 1
    before, id = found[at], sub(who, 1, 12)
    line = before or ''
    -- include line
    place = math.floor(own and (own - 1) / 28 or math.min(#line / 28, 1000))
    local waits = place * 10000 - now + (deadline or record and now or 0)
    if not item and waits > 0 and waits <= place * 10000 then
      left = math.ceil(waits / 1000)
      item = 'q' .. left
    end
  end

  if item and checks == nil and list ~= '' then
    local unused = guard and #guard == 120 and now - sub(guard, 108, 120) * 1000 -- for how many µs
    checks = not unused or unused >= 1000000 or unused < 0
  end
  if not checked and (checks or not item) then
    -- include guard
    checked, refused, why, start, longest = true, refusal, reason, since, kept
  end
  if not item then
    local number = record and tonumber(sub(record, 1, 16)) or 0
    if refused then
      item, text, left = refused, why, string.match(refused, '^g(%d+)')
    elseif record and now < deadline and sub(record, 52) == value then
      item, granted = string.format('y%d', number), true
    elseif now > tonumber(ARGV[i + 3]) then
      item = 't'
    elseif not (number >= 0 and number < 9007199254740991) then -- also true for NaN
      item, text = 'e1', 'the number ' .. sub(record, 1, 16) .. ' is too large to count on, or below zero'
    else
      number = (number < high and high or number) + 1
      if not record or sub(record, 18, 33) ~= start then
        -- The record is gone or older than the guard, so numbers may be lost. No lost number was above the clock or high,
        -- and with a guard none is more recent than the longest lease. So the seed can be rounded down to a multiple
        -- of 1/64 of the longest lease: nodes whose clocks differ by less usually get equal numbers.
        number = math.max(number, now - now % math.max(math.floor(longest * 1000 / 64), 1))
      end
      record = string.format('%016d %s %016d ', number, start, now + ARGV[i + 2] * 1000) .. value
      changes[#changes + 1] = field
      changes[#changes + 1] = record
      item, granted, granting = 'y' .. sub(record, 1, 16), true, true
    end
  end

  if line then
    if left then
      -- It asks the nodes of the line in turns, each time at the end of the hold that it knows of.
      local most = left + (tonumber(sub(guard or '', 78, 89)) or 60000) + 10 * place + 1000
      local entry = id .. string.format('%016d', now + math.min(most, tonumber(sub(who, 13)) or 0) * 1000)
      line = own and sub(line, 1, own - 1) .. entry .. sub(line, own + 28) or sub(line, 1, 28000) .. entry
      item = item == refused and item or item .. '/' .. place
    elseif granted and own then
      line = sub(line, 1, own - 1) .. sub(line, own + 28)
    end
    -- The line is only a hint: an error here does not prevent an answer.
    if line == '' and before then
      redis.pcall('HDEL', hash, 'l:' .. sub(field, 3))
    elseif line ~= (before or '') then
      changes[#changes + 1] = 'l:' .. sub(field, 3)
      changes[#changes + 1] = line
    end
  end
  items[#items + 1] = item
  texts[#texts + 1] = text
end
if granting then
  redis.call('HSET', hash, unpack(changes))
elseif changes[1] then
  redis.pcall('HSET', hash, unpack(changes))
end

-- include answer
