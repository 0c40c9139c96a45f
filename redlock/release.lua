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
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item:
--          yWAITING         was held and is now free; WAITING processes are in line
--          n                was gone already
--          either with /1   if publishing is not permitted
--          hLEFT and text   held by that value, for LEFT ms
--          e and text       this library did not write the record; nothing was done
-- Those in line (see acquire) are told on channels of their own, with KIND PLACE LENGTH NAME VALUE. One whose channel
-- has no subscriber is removed, unless p is set. One call tries at most 64 for each lock.
local t = redis.call('TIME')
local now, hash, sub = t[1] * 1000000 + t[2], KEYS[1], string.sub
local fields, n = {'g'}, 1
for i = 2, #ARGV, 3 do
  n = n + 1
  fields[n] = ARGV[i]
end
for i = 2, n do
  fields[n + i - 1] = 'l:' .. sub(fields[i], 3)
end
local first, last = string.format('%016d', now), string.format('%016d', now + 86400000000)
local found = redis.call('HMGET', hash, unpack(fields))
local identity, items, texts, changes, empty = nil, {}, {}, {}, {}
for i = 2, n do
  local record, value, tell, answer = found[i], ARGV[3 * i - 3], ARGV[3 * i - 2], 'n'
  local id, promise, does = string.match(tell, '^(............)(%d*)(.*)$')
  id, promise, does = id or '', tonumber(promise), does or ''
  local leaves = does == 'release' or does == 'leave'
  local frees, tells = does ~= 'leave' and does ~= 'more', leaves or does == 'failed' or does == 'more'
  local freed = 0
  if record then
    local deadline, holder = tonumber(sub(record, 35, 50)), sub(record, 52)
    freed = deadline or 0
    if not deadline then
      answer = 'e'
      texts[i] = 'this library did not write the record ' .. sub(record, 1, 60)
    elseif holder == value and frees then
      -- The retention of the record, and the time of those in line, start when the hold ends.
      changes[#changes + 1] = fields[i]
      changes[#changes + 1] = sub(record, 1, 34) .. string.format('%016d ', math.min(now, deadline))
      answer = now < deadline and 'y' or 'n'
    elseif does == 'release' and holder == '' then
      -- The hold was on other nodes. The time of those in line starts here, too.
      changes[#changes + 1] = fields[i]
      changes[#changes + 1] = sub(record, 1, 34) .. string.format('%016d ', now)
    elseif holder ~= '' and now < deadline then
      answer = string.format('h%d', math.ceil((deadline - now) / 1000))
      texts[i] = holder
    end
  end
  local text, at, own = found[n + i - 1] or '', 1, nil
  while at + 27 <= #text do
    local who, promises = sub(text, at, at + 11), sub(text, at + 12, at + 27) -- compared as text: both have 16 digits
    if who == id then
      own = at
    end
    if who == id and leaves or promises <= first or promises > last then
      text = sub(text, 1, at - 1) .. sub(text, at + 28)
    else
      at = at + 28
    end
  end
  text = sub(text, 1, at - 1)
  if does == 'more' and answer == 'n' and (now >= freed + 20000 or now < freed) then -- or the clock was set back
    text = sub(text, 57)
  end
  if promise and answer == 'y' then
    text = (own and sub(text, 1, own - 1) .. sub(text, own + 28)) or text
    text = id .. string.format('%016d', now + promise * 1000) .. text
  end
  if tells and (answer == 'y' or answer == 'n') then
    local k, tries, heard, name = 0, 64, 1, sub(fields[i], 3)
    while #text > 28 * k and k < 2 and tries > 0 do
      tries = tries - 1
      heard = redis.pcall('PUBLISH', hash .. ':p:' .. sub(text, 28 * k + 1, 28 * k + 12),
        (does == 'failed' and 'failed ' or 'over ') .. k .. ' ' .. #name .. ' ' .. name .. value)
      if type(heard) ~= 'number' then
        break
      end
      if heard == 0 and ARGV[1] ~= 'p' then
        text = sub(text, 1, 28 * k) .. sub(text, 28 * k + 29)
      else
        k = k + 1
      end
    end
    answer = text ~= '' and answer .. #text / 28 or answer
    local channel = hash .. ':' .. fields[i]
    if frees and type(heard) == 'number' and
        (ARGV[1] == 'p' or (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 1) ~= 0) then
      heard = redis.pcall('PUBLISH', channel, 'over')
    end
    if type(heard) ~= 'number' then
      answer = answer .. '/1'
    end
  end
  items[i] = answer
  local before = found[n + i - 1]
  if before and text == '' then
    empty[#empty + 1] = fields[n + i - 1]
  elseif text ~= (before or '') then
    changes[#changes + 1] = fields[n + i - 1]
    changes[#changes + 1] = text
  end
end
if empty[1] then
  redis.call('HDEL', hash, unpack(empty))
end
-- include overwrite
-- include identity
-- include answer
