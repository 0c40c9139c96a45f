-- release: free locks that are still ours and notify the waiters, or only notify the waiters
-- KEYS     hash of the prefix
-- ARGV     p to always publish, as in a cluster, whose servers do not know each other's subscribers;
--          then for each lock: field, value, and a notification: over, which removes the first waiter from the list; also,
--          if another node removes it; failed, for an attempt that may have looked like a hold; or nothing.
--          Two more never free a lock, because anybody can publish a message with its value: next is over without freeing;
--          again is next, but only if no waiter was just notified
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item:
--          yWAITING         was held and is now free; WAITING waiters are known to this server
--          n                was gone already
--          either with /1   if publishing is not permitted
--          hLEFT and text   held by that value, for LEFT ms
--          e and text       this library did not write the record; nothing was done
-- After the end of a hold, the first two waiters of the lock (see acquire) are notified, each on its own channel, with KIND
-- POSITION LENGTH NAME VALUE. After a failed attempt, all are. A waiter whose channel has no subscriber is removed from the
-- list, unless p is set. One call tries at most 64 waiters for each lock.
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
local identity, items, texts, changes = nil, {}, {}, {}
for i = 2, n do
  local record, value, tell, answer = found[i], ARGV[3 * i - 3], ARGV[3 * i - 2], 'n'
  if record then
    local deadline, holder = tonumber(string.sub(record, 35, 50)), string.sub(record, 52)
    if not deadline then
      answer = 'e'
      texts[i] = 'this library did not write the record ' .. string.sub(record, 1, 60)
    elseif holder == value and tell ~= 'next' and tell ~= 'again' then
      -- The retention of the record starts when the hold ends.
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
    -- Notify even if this node did not have the lock, as under its guard: it may list waiters all the same.
    local field, list, heard = fields[n + i - 1], found[n + i - 1], 1
    if list then
      -- Position 0 is the first waiter, if another node removes it.
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
-- include overwrite
-- include identity
-- include answer
