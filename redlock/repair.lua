-- repair: restore locks on a node that has lost them, and raise their numbers if they are lower
-- KEYS     hash of the prefix
-- ARGV     list and b, as in acquire; then for each lock: field, value, ttl (ms), token (16 digits), not after (µs)
-- returns  as acquire; the number is the token
local t = redis.call('TIME')
local now, hash, list, sub = t[1] * 1000000 + t[2], KEYS[1], ARGV[1], string.sub
local anonymous, readonly = ARGV[2] == 'b', false
local fields = {'g'}
for i = 3, #ARGV, 5 do
  fields[#fields + 1] = ARGV[i]
end
local found = redis.call('HMGET', hash, unpack(fields))
local guard, identity, items, texts, changes = found[1], nil, {}, {}, {}
-- include guard
for i = 3, #ARGV, 5 do
  local record, value, token, item, text = found[(i + 7) / 5], ARGV[i + 1], ARGV[i + 3], nil, nil
  local deadline = record and tonumber(sub(record, 35, 50))
  local held = deadline and sub(record, 52) ~= '' and now < deadline
  if refusal then
    item, text = refusal, reason
  elseif record and not deadline then
    item, text = 'e', 'this library did not write the record ' .. sub(record, 1, 60)
  elseif held and sub(record, 52) ~= value then
    item, text = 'h' .. math.ceil((deadline - now) / 1000), sub(record, 52)
  elseif now > tonumber(ARGV[i + 4]) then
    item = 't'
  else
    -- The number keeps the guard under which it was counted: a lease that is older than the guard says nothing about the
    -- numbers that this node has lost.
    local number, under = record and sub(record, 1, 16) or token, record and sub(record, 17, 34) or ' 0000000000000000 '
    changes[#changes + 1] = ARGV[i]
    changes[#changes + 1] = (number < token and token or number) .. under ..
      string.format('%016d ', held and deadline or now + ARGV[i + 2] * 1000) .. value
    item = 'y' .. token
  end
  items[#items + 1] = item
  texts[#texts + 1] = text
end
if changes[1] then
  redis.call('HSET', hash, unpack(changes))
end
-- include answer
