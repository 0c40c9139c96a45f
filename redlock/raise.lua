-- raise: raise the numbers of locks if they are lower
-- KEYS     hash of the prefix
-- ARGV     for each lock: field, number (16 digits)
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item: y, or e and text if this library did not write the
--          record
local t = redis.call('TIME')
local now, hash = t[1] * 1000000 + t[2], KEYS[1]
local fields, n = {}, 1 + #ARGV / 2
for i = 2, n do
  fields[i - 1] = ARGV[2 * i - 3]
end
local found = redis.call('HMGET', hash, unpack(fields))
local identity, items, texts, changes = nil, {}, {}, {}
for i = 2, n do
  local record, number = found[i - 1] or string.format('%016d %016d %016d ', 0, 0, now), ARGV[2 * i - 2]
  if not tonumber(string.sub(record, 35, 50)) then
    items[i] = 'e'
    texts[i] = 'this library did not write the record ' .. string.sub(record, 1, 60)
  else
    items[i] = 'y'
    if string.sub(record, 1, 16) < number then
      changes[#changes + 1] = fields[i - 1]
      -- The retention of a free lock's record starts now.
      local deadline = math.max(tonumber(string.sub(record, 35, 50)), now)
      changes[#changes + 1] = number .. string.sub(record, 17, 34) .. string.format('%016d ', deadline) .. string.sub(record, 52)
    end
  end
end
if changes[1] then
  redis.call('HSET', hash, unpack(changes))
end
-- include identity
-- include answer
