-- release: free locks that are still ours, and tell those who wait in line
-- KEYS     hash of the prefix
-- ARGV     p to always publish, as in a cluster, whose servers do not know each other's subscribers;
--          then for each lock: field, value, and what to do with the line: 12 characters of the process that asks, for
--          how many ms it promises to be there, and
--          release   it goes, and the first two are told
--          failed    it is put first if the lock was ours and it promises to be there; the first two are told
--          again     it is put first if the lock was ours; nobody is told
--          nothing   nobody is told
--          leave     frees nothing: it goes, and the first two are told if the lock is free
--          more      frees nothing: if the lock is free and the first two have had their time, they go, and the next two
--                    are told
-- returns  SECONDS MICROSECONDS IDENTITY.LABEL, and for each lock an item:
--          yWAITING         was held and is now free; WAITING processes are in line
--          n                was gone already
--          either with /1   if publishing is not permitted
--          hLEFT and text   held by that value, for LEFT ms
--          e and text       this library did not write the record; nothing was done
-- Those in line (see acquire) are told on channels of their own, with KIND PLACE LENGTH NAME VALUE. One whose channel
-- has no subscriber is removed, unless p is set. One call tries at most 64 for each lock.
local t = redis.call('TIME')
local now, hash, sub = t[1] * 1000000 + t[2], KEYS[1], string.sub
local fields = {}
for i = 2, #ARGV, 3 do
  fields[#fields + 1] = ARGV[i]
  fields[#fields + 1] = 'l:' .. sub(ARGV[i], 3)
end
local found = redis.call('HMGET', hash, unpack(fields))
local identity, guard, items, texts, changes, empty, at = nil, '', {}, {}, {}, {}, -1
for i = 2, #ARGV, 3 do
  local field, value, tell, name = ARGV[i], ARGV[i + 1], ARGV[i + 2], sub(ARGV[i], 3)
  local id, own, promise, does = sub(tell, 1, 12), nil, string.match(tell, '(%d*)(.*)', 13)
  local frees, leaves = does ~= 'leave' and does ~= 'more', does == 'release' or does == 'leave'
  at = at + 2
  local record, item, text, freed = found[at], 'n', nil, 0
  if record then
    local deadline, holder = tonumber(sub(record, 35, 50)), sub(record, 52)
    freed = deadline or 0
    if not deadline then
      item, text = 'e', 'this library did not write the record ' .. sub(record, 1, 60)
    elseif holder == value and frees then
      -- The retention of the record, and the time of those in line, start when the hold ends.
      changes[#changes + 1] = field
      changes[#changes + 1] = sub(record, 1, 34) .. string.format('%016d ', math.min(now, deadline))
      item = now < deadline and 'y' or 'n'
    elseif does == 'release' and holder == '' then
      -- The hold was on other nodes. The time of those in line starts here, too.
      changes[#changes + 1] = field
      changes[#changes + 1] = sub(record, 1, 34) .. string.format('%016d ', now)
    elseif holder ~= '' and now < deadline then
      item, text = 'h' .. math.ceil((deadline - now) / 1000), holder
    end
  end
  local before = found[at + 1]
  local line = before or ''
  -- include line
  local again = promise ~= '' and item == 'y'
  if own and (leaves or again) then
    line = sub(line, 1, own - 1) .. sub(line, own + 28)
  end
  if again then
    line = id .. string.format('%016d', now + promise * 1000) .. line
  elseif does == 'more' and item == 'n' and (now >= freed + 20000 or now < freed) then -- or the clock was set back
    line = sub(line, 57)
  end
  if not text and (leaves or does == 'failed' or does == 'more') then
    local k, tries, heard = 0, 64, 1
    while #line > 28 * k and k < 2 and tries > 0 do
      tries = tries - 1
      heard = redis.pcall('PUBLISH', hash .. ':p:' .. sub(line, 28 * k + 1, 28 * k + 12),
        (does == 'failed' and 'failed ' or 'over ') .. k .. ' ' .. #name .. ' ' .. name .. value)
      if type(heard) ~= 'number' then
        break
      end
      if heard == 0 and ARGV[1] ~= 'p' then
        line = sub(line, 1, 28 * k) .. sub(line, 28 * k + 29)
      else
        k = k + 1
      end
    end
    item = line ~= '' and item .. math.floor(#line / 28) or item
    local channel = hash .. ':' .. field
    if frees and type(heard) == 'number' and
        (ARGV[1] == 'p' or (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 1) ~= 0) then
      heard = redis.pcall('PUBLISH', channel, 'over')
    end
    item = type(heard) == 'number' and item or item .. '/1'
  end
  items[#items + 1] = item
  texts[#texts + 1] = text
  if before and line == '' then
    empty[#empty + 1] = fields[at + 1]
  elseif line ~= (before or '') then
    changes[#changes + 1] = fields[at + 1]
    changes[#changes + 1] = line
  end
end
if empty[1] then
  redis.call('HDEL', hash, unpack(empty))
end
-- include overwrite
-- include identity
-- include answer
