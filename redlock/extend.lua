-- extend: prolong locks that are still ours, and raise their numbers if they are lower
-- KEYS     hash of the prefix
-- ARGV     g if the server has a guard; then all locks in one text, because each argument costs a microsecond: for each
--          lock its token (16 digits), ttl (ms, 12), ? if the last extension was not confirmed or a space, the lengths of
--          field (4) and value (4), field and value
-- returns  SECONDS MICROSECONDS IDENTITY.LABEL, and the item a if all were extended; otherwise an item for each lock:
--          y                extended
--          n                the lock is gone
--          hLEFT and text   held by that value, for LEFT ms
--          e and text       this library did not write the record; nothing was done
-- Field h has the largest token that was further ahead of the clock than a guard lasts, because the clock had been set back.
-- Numbers of all locks continue above it, so a record that is lost or removed takes no number back.
local t = redis.call('TIME')
local now, hash, guarded, locks, sub = t[1] * 1000000 + t[2], KEYS[1], ARGV[1], ARGV[2], string.sub
local fields, starts, values, n, high = {'g'}, {}, {}, 1, ''
local at, length = 1, #locks
while at <= length do
  local lengths = tonumber(sub(locks, at + 29, at + 36))
  local value = lengths % 10000
  local begin = at + 37 + (lengths - value) / 10000
  n = n + 1
  fields[n] = sub(locks, at + 37, begin - 1)
  starts[n] = at
  at = begin + value
  values[n] = sub(locks, begin, at - 1)
end
local found = redis.call('HMGET', hash, unpack(fields))
local identity, items, texts, changes, m = nil, {}, {}, {}, 0
local terms, deadline
for i = 2, n do
  local record, value, start = found[i], values[i], starts[i]
  local token = sub(locks, start, start + 15)
  high = token > high and token or high
  local held = record and tonumber(sub(record, 35, 50))
  if held and now < held and sub(record, 52) == value then
    local this = sub(locks, start + 16, start + 28)
    if this ~= terms then
      terms = this
      deadline = string.format(' %016d', now + tonumber(sub(terms, 1, 12)) * 1000) .. sub(terms, 13)
    end
    changes[m + 1] = fields[i]
    m = m + 2
    -- The number comes first in a record, so records compare like their numbers. The guard under which it was counted
    -- stays the same: lost numbers stay lost.
    if record < token then
      changes[m] = token .. sub(record, 17, 33) .. deadline .. value
    else
      changes[m] = sub(record, 1, 33) .. deadline .. value
    end
    items[i - 1] = 'y'
  elseif record and not held then
    items[i - 1] = 'e'
    texts[#texts + 1] = 'this library did not write the record ' .. sub(record, 1, 60)
  elseif held and now < held and #record > 51 then
    items[i - 1] = 'h' .. math.ceil((held - now) / 1000)
    texts[#texts + 1] = sub(record, 52)
  else
    items[i - 1] = 'n'
  end
end
if m == 2 * (n - 1) then
  items = {'a'}
end
-- include identity
local guard = found[1]
if m > 0 and guarded ~= '' and #(guard or '') == 120 and (not identity or identity == sub(guard, 3, 42)) and
    (tonumber(sub(guard, 108, 120)) or 0) + 1000 <= now / 1000 then
  -- The server's list is in use, also if the caller does not know it yet: the lease lasts on. The guard of another server stays
  -- unused, so that the next acquire starts one.
  changes[m + 1] = 'g'
  changes[m + 2] = sub(guard, 1, 107) .. string.format('%013d', math.floor(now / 1000))
end
local ahead = tonumber(high) - now
if ahead > 0 and ahead > 1000 * (tonumber(sub(guard or '', 78, 89)) or 0) then
  local known = redis.call('HGET', hash, 'h')
  if not known or known < high then
    changes[#changes + 1] = 'h'
    changes[#changes + 1] = high
  end
end
-- include overwrite
-- include answer
