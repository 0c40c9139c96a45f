-- extend: prolong locks that are still ours, and raise their numbers where they are behind
-- KEYS     hash of the prefix
-- ARGV     list, as guard has it; then for each lock: field, value, ttl (ms), token (16 digits)
-- returns  SECONDS MICROSECONDS IDENTITY, and for each lock an item:
--          y                extended
--          n                it is gone
--          hLEFT and text   held by that value, for so many ms
--          e and text       the record is none of ours, nothing was done
local t = redis.call('TIME')
local now, hash, list = t[1] * 1000000 + t[2], KEYS[1], ARGV[1]
local fields, n = {'g'}, 1
for i = 2, #ARGV, 4 do
  n = n + 1
  fields[n] = ARGV[i]
end
local found = redis.call('HMGET', hash, unpack(fields))
local guard, items, texts, changes, deadlines = found[1], {}, {}, {}, {}
for i = 2, n do
  local record, value, answer = found[i], ARGV[4 * i - 5], 'n'
  if record then
    local deadline, holder = tonumber(string.sub(record, 35, 50)), string.sub(record, 52)
    if not deadline then
      answer = 'e'
      texts[i] = 'this library did not write the record ' .. string.sub(record, 1, 60)
    elseif holder ~= '' and now < deadline then
      if holder == value then
        local ttl, number, token = ARGV[4 * i - 4], string.sub(record, 1, 16), ARGV[4 * i - 3]
        deadlines[ttl] = deadlines[ttl] or string.format(' %016d ', now + ttl * 1000)
        -- The number keeps the guard that it was counted under: what was lost stays lost.
        changes[#changes + 1] = fields[i]
        changes[#changes + 1] = (number < token and token or number) .. string.sub(record, 17, 33) .. deadlines[ttl] .. value
        answer = 'y'
      else
        answer = string.format('h%d', math.ceil((deadline - now) / 1000))
        texts[i] = holder
      end
    end
  end
  items[i] = answer
end
if guard and list ~= '' and string.sub(guard, 91, 93) == string.sub(list, 14, 16) then
  -- The list of nodes is in use: so much is noted eight times in a longest lease.
  local ms, used = math.floor(now / 1000), tonumber(string.sub(guard, 95, 107)) or 0
  if used + tonumber(string.sub(guard, 78, 89)) / 8 <= ms then
    changes[#changes + 1] = 'g'
    changes[#changes + 1] = string.sub(guard, 1, 94) .. string.format('%013d', ms)
  end
end
if changes[1] then
  redis.call('HSET', hash, unpack(changes))
end
-- include identity
-- include answer
