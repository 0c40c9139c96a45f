-- release: free locks that are still ours, and tell those who wait for them; or only tell them
-- KEYS     hash of the prefix
-- ARGV     p to publish in any case, as in a cluster, whose servers do not know each other's subscribers;
--          then for each lock: field, value, and what those who wait are told: over, and the first one is taken off the list;
--          also, where another node does that; failed, of an attempt that may have looked like a hold; or nothing.
--          Two more free nothing, even if the value holds the lock, since anybody can publish a message with that value: next
--          is over without that; again is next, if who was told before has not had the lock
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item:
--          yWAITING         it was held, and is free; so many wait for it, as far as this server knows
--          n                it was gone
--          either with /1   where publishing is not permitted
--          hLEFT and text   held by that value, for so many ms
--          e and text       the record is none of ours, nothing was done
-- Of those who wait for a lock (see acquire), the first two are told of its end, each on a channel of its own: KIND PLACE
-- LENGTH NAME VALUE; of an attempt that has failed, all are told. Whose channel nobody hears is taken off the list, unless
-- p. One call looks at 64 for each lock at most.
local t = redis.call('TIME')
local now, hash = t[1] * 1000000 + t[2], KEYS[1]
local fields, n = {'g'}, 1
for i = 2, #ARGV, 3 do
  n = n + 1
  fields[n] = ARGV[i]
end
for i = 2, n do
  fields[n + i - 1] = 'w:' .. string.sub(fields[i], 3)
end
local found = redis.call('HMGET', hash, unpack(fields))
local guard, items, texts, changes = found[1], {}, {}, {}
for i = 2, n do
  local record, value, tell, answer = found[i], ARGV[3 * i - 3], ARGV[3 * i - 2], 'n'
  if record then
    local deadline, holder = tonumber(string.sub(record, 35, 50)), string.sub(record, 52)
    if not deadline then
      answer = 'e'
      texts[i] = 'this library did not write the record ' .. string.sub(record, 1, 60)
    elseif holder == value and tell ~= 'next' and tell ~= 'again' then
      -- The record is kept from the end of the hold on.
      changes[#changes + 1] = fields[i]
      changes[#changes + 1] = string.sub(record, 1, 34) .. string.format('%016d ', math.min(now, deadline))
      answer = now < deadline and 'y' or 'n'
    elseif holder ~= '' and now < deadline then
      answer = string.format('h%d', math.ceil((deadline - now) / 1000))
      texts[i] = holder
    end
  end
  if tell == 'again' then
    local list = found[n + i - 1] or ''
    local at = tonumber(string.sub(list, 1, 16)) or 0
    local recent = string.sub(list, 17, 17) == '!' and at <= now and now < at + 10000
    tell = recent and '' or 'next'
  end
  if tell ~= '' and (answer == 'y' or answer == 'n') then
    -- Also where the lock was not, as on a node under guard: there some may wait.
    local field, list, heard = fields[n + i - 1], found[n + i - 1], 1
    if list then
      -- Place 0 is the first one where another node takes it off.
      local place, kind, name = tell == 'also' and 0 or 1, tell == 'failed' and tell or 'over', string.sub(fields[i], 3)
      local ids, first, at, looks = string.sub(list, 18, 12017), 1, 1, 64
      local last = tell == 'also' and 0 or tell == 'failed' and looks or 2
      while at < #ids and place <= last and looks > 0 do
        looks = looks - 1
        heard = redis.pcall('PUBLISH', hash .. ':p:' .. string.sub(ids, at, at + 11),
          kind .. ' ' .. place .. ' ' .. #name .. ' ' .. name .. value)
        if type(heard) ~= 'number' then
          break
        end
        if heard == 0 and ARGV[1] ~= 'p' then
          ids = string.sub(ids, 1, at - 1) .. string.sub(ids, at + 12)
        else
          at = at + 12
          if place == 1 then
            first = at
          end
          place = place + 1
        end
      end
      if at > 1 or looks == 0 then
        answer = answer .. math.floor(#ids / 12)
      end
      if #list > 17 and tell ~= 'failed' then
        changes[#changes + 1] = field
        changes[#changes + 1] = string.format('%016d', now) .. (at > 1 and '!' or ' ') .. string.sub(ids, first)
      end
    end
    local channel = hash .. ':' .. fields[i]
    if type(heard) == 'number' and (ARGV[1] == 'p' or (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 1) ~= 0) then
      heard = redis.pcall('PUBLISH', channel, 'over')
    end
    if type(heard) ~= 'number' then
      answer = answer .. '/1'
    end
  end
  items[i] = answer
end
if changes[1] then
  redis.call('HSET', hash, unpack(changes))
end
-- include answer
