-- holder: return who holds locks, without changing anything
-- KEYS     hash of the prefix
-- ARGV     for each lock: its field
-- returns  SECONDS MICROSECONDS IDENTITY.LABEL, and for each lock an item:
--          n                       nobody
--          hLEFT/NUMBER and text   that value, for LEFT ms; NUMBER is this node's
--          e and text              this library did not write the record
local t = redis.call('TIME')
local now, sub, identity, guard, items, texts = t[1] * 1000000 + t[2], string.sub, nil, '', {}, {}
for i, record in ipairs(redis.call('HMGET', KEYS[1], unpack(ARGV))) do
  local deadline = record and tonumber(sub(record, 35, 50))
  items[i] = 'n'
  if record and not deadline then
    items[i] = 'e'
    texts[#texts + 1] = 'this library did not write the record ' .. sub(record, 1, 60)
  elseif record and sub(record, 52) ~= '' and now < deadline then
    items[i] = string.format('h%d/%d', math.ceil((deadline - now) / 1000), tonumber(sub(record, 1, 16)))
    texts[#texts + 1] = sub(record, 52)
  end
end
-- include identity
-- include answer
