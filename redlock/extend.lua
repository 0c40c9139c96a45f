-- extend: prolong locks that are still ours, and raise their numbers where they are behind
-- KEYS     hash of the prefix
-- ARGV     list, as guard has it; then all locks in one text, as each argument costs a microsecond: of each its token (16
--          digits), ttl (ms, 12), the lengths of field (4) and value (4), field and value
-- returns  SECONDS MICROSECONDS IDENTITY, and the item a if all were extended; else for each lock an item:
--          y                extended
--          n                it is gone
--          hLEFT and text   held by that value, for so many ms
--          e and text       the record is none of ours, nothing was done
local t = redis.call('TIME')
local now, hash, list, locks, sub = t[1] * 1000000 + t[2], KEYS[1], ARGV[1], ARGV[2], string.sub
local fields, values, tokens, ttls, n = {'g'}, {}, {}, {}, 1
local at, length = 1, #locks
while at <= length do
  local value = at + 36 + tonumber(sub(locks, at + 28, at + 31))
  local following = value + tonumber(sub(locks, at + 32, at + 35))
  n = n + 1
  fields[n] = sub(locks, at + 36, value - 1)
  values[n] = sub(locks, value, following - 1)
  tokens[n] = sub(locks, at, at + 15)
  ttls[n] = sub(locks, at + 16, at + 27)
  at = following
end
local found = redis.call('HMGET', hash, unpack(fields))
local guard, items, texts, changes, deadlines, m = found[1], {}, {}, {}, {}, 0
for i = 2, n do
  local record, answer = found[i], 'n'
  if record then
    local deadline, holder = tonumber(sub(record, 35, 50)), sub(record, 52)
    if not deadline then
      answer = 'e'
      texts[i] = 'this library did not write the record ' .. sub(record, 1, 60)
    elseif holder ~= '' and now < deadline then
      if holder == values[i] then
        local ttl, number, token = ttls[i], sub(record, 1, 16), tokens[i]
        deadlines[ttl] = deadlines[ttl] or string.format(' %016d ', now + tonumber(ttl) * 1000)
        -- The number keeps the guard that it was counted under: what was lost stays lost.
        changes[m + 1] = fields[i]
        changes[m + 2] = (number < token and token or number) .. sub(record, 17, 33) .. deadlines[ttl] .. holder
        m = m + 2
        answer = 'y'
      else
        answer = string.format('h%d', math.ceil((deadline - now) / 1000))
        texts[i] = holder
      end
    end
  end
  items[i] = answer
end
if m == 2 * (n - 1) then
  items[2] = 'a'
  n = 2
end
if guard and list ~= '' and sub(guard, 91, 93) == sub(list, 14, 16) then
  -- The list of nodes is in use: so much is noted eight times in a longest lease.
  local ms, used = math.floor(now / 1000), tonumber(sub(guard, 95, 107)) or 0
  if used + tonumber(sub(guard, 78, 89)) / 8 <= ms then
    changes[m + 1] = 'g'
    changes[m + 2] = sub(guard, 1, 94) .. string.format('%013d', ms)
  end
end
if changes[1] then
  redis.call('HSET', hash, unpack(changes))
end
-- include identity
-- include answer
