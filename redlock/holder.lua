-- holder: return who holds locks, without changing anything
-- KEYS     hash of the prefix
-- ARGV     for each lock: its field
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item:
--          n                       nobody
--          hLEFT/NUMBER and text   that value, for LEFT ms; NUMBER is this node's
--          e and text              this library did not write the record
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local found = redis.call('HMGET', KEYS[1], unpack(ARGV))
local identity, items, texts, n = nil, {}, {}, #ARGV + 1
for i = 2, n do
  local record = found[i - 1]
  local deadline = record and tonumber(string.sub(record, 35, 50))
  items[i] = 'n'
  if record and not deadline then
    items[i] = 'e'
    texts[i] = 'this library did not write the record ' .. string.sub(record, 1, 60)
  elseif record and string.sub(record, 52) ~= '' and now < deadline then
    items[i] = string.format('h%d/%d', math.ceil((deadline - now) / 1000), tonumber(string.sub(record, 1, 16)))
    texts[i] = string.sub(record, 52)
  end
end
-- include identity
-- include answer
