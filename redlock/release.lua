-- release: free locks that are still ours, and tell those who wait for them
-- KEYS     hash of the prefix
-- ARGV     p to publish in any case, as in a cluster, whose servers do not know each other's subscribers;
--          then for each lock: field, value, what to tell before who held it (empty: nothing)
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item:
--          yWAITING         it was held, and is free; so many were told, and waited if they still do
--          n                it was gone
--          either with /1   where publishing is not permitted
--          hLEFT and text   held by that value, for so many ms
--          e and text       the record is none of ours, nothing was done
local t = redis.call('TIME')
local now, hash = t[1] * 1000000 + t[2], KEYS[1]
local fields, n = {'g'}, 1
for i = 2, #ARGV, 3 do
  n = n + 1
  fields[n] = ARGV[i]
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
    elseif holder == value then
      -- The record is kept from the end of the hold on.
      changes[#changes + 1] = fields[i]
      changes[#changes + 1] = string.sub(record, 1, 34) .. string.format('%016d ', math.min(now, deadline))
      answer = now < deadline and 'y' or 'n'
    elseif holder ~= '' and now < deadline then
      answer = string.format('h%d', math.ceil((deadline - now) / 1000))
      texts[i] = holder
    end
  end
  if tell ~= '' and (answer == 'y' or answer == 'n') then
    -- Also where the lock was not, as on a node under guard: there some may wait. They draw a delay that is the longer the
    -- more they are; -1: how many is not known.
    local channel = hash .. ':' .. fields[i]
    local known = redis.pcall('PUBSUB', 'NUMSUB', channel)
    local waiting = not known.err and known[2] or -1
    if waiting > 0 then
      answer = answer .. waiting
    end
    if (waiting ~= 0 or ARGV[1] == 'p') and
      type(redis.pcall('PUBLISH', channel, tell .. ' ' .. waiting .. ' ' .. value)) ~= 'number' then
      answer = answer .. '/1'
    end
  end
  items[i] = answer
end
if changes[1] then
  redis.call('HSET', hash, unpack(changes))
end
-- include answer
