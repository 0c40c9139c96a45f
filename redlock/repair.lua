-- repair: restore locks on a node that has lost them, and raise their numbers if they are lower
-- KEYS     hash of the prefix
-- ARGV     list, flags, as in acquire; then for each lock: field, value, ttl (ms), token (16 digits), not after (µs)
-- returns  as acquire; the number is the token
local t = redis.call('TIME')
local now, hash, list = t[1] * 1000000 + t[2], KEYS[1], ARGV[1]
local update, anonymous, readonly = string.find(ARGV[2], 'g', 1, true), string.find(ARGV[2], 'b', 1, true), false
local fields, n = {'g'}, 1
for i = 3, #ARGV, 5 do
  n = n + 1
  fields[n] = ARGV[i]
end
local found = redis.call('HMGET', hash, unpack(fields))
local guard, identity, items, texts, changes = found[1], nil, {}, {}, {}
-- include guard
for i = 2, n do
  local record, value, token, notafter = found[i], ARGV[5 * i - 6], ARGV[5 * i - 4], ARGV[5 * i - 3]
  local deadline = record and tonumber(string.sub(record, 35, 50))
  local held = deadline and string.sub(record, 52) ~= '' and now < deadline
  if refusal then
    items[i] = refusal
    texts[i] = reason
  elseif record and not deadline then
    items[i] = 'e'
    texts[i] = 'this library did not write the record ' .. string.sub(record, 1, 60)
  elseif held and string.sub(record, 52) ~= value then
    items[i] = string.format('h%d', math.ceil((deadline - now) / 1000))
    texts[i] = string.sub(record, 52)
  elseif now > tonumber(notafter) then
    items[i] = 't'
  else
    -- The number keeps the guard under which it was counted: a lease that is older than the guard says nothing about the
    -- numbers that this node has lost.
    local number = record and string.sub(record, 1, 16) or token
    local under = record and string.sub(record, 17, 34) or ' 0000000000000000 '
    changes[#changes + 1] = fields[i]
    changes[#changes + 1] = (number < token and token or number) .. under ..
      string.format('%016d ', held and deadline or now + ARGV[5 * i - 5] * 1000) .. value
    items[i] = 'y' .. token
  end
end
if changes[1] then
  redis.call('HSET', hash, unpack(changes))
end
-- include answer
