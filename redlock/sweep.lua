-- sweep: remove some records of holds that ended longer ago than the retention, and lines whose promises passed then
-- KEYS     hash of the prefix
-- ARGV     cursor, number of fields to scan, retention (ms)
-- returns  SECONDS MICROSECONDS IDENTITY, and yREMOVED/CURSOR: that many were removed, and the next sweep continues at this
--          cursor; or e and text: records cannot be removed
local t = redis.call('TIME')
local now, hash, cursor, sub = t[1] * 1000000 + t[2], KEYS[1], ARGV[1], string.sub
local guard = redis.call('HGET', hash, 'g') or ''
-- Another client with longer leases may round its seeds down by more, so keep records for twice the longest lease.
local longest = tonumber(sub(guard, 78, 89)) or 0
local before = now - math.max(ARGV[3], 2 * longest) * 1000
local identity, items, texts, scanned, removed = nil, {}, {}, 0, 0
repeat
  local page = redis.pcall('HSCAN', hash, cursor, 'COUNT', 32)
  local some, old = page[2] or {}, {}
  for i = 1, #some, 2 do
    local kind, value = sub(some[i], 1, 2), some[i + 1]
    -- The last one in a line usually promised to be there longest.
    local deadline = kind == 'n:' and tonumber(sub(value, 35, 50)) or kind == 'l:' and (tonumber(sub(value, -16)) or 0)
    if deadline and deadline < before and #old < 1000 then
      old[#old + 1] = some[i]
    end
  end
  local done = old[1] and redis.pcall('HDEL', hash, unpack(old))
  texts[1] = page.err or type(done) == 'table' and done.err or nil
  -- A page may be empty or slightly larger than requested.
  cursor, scanned, removed = page[1] or '0', scanned + math.max(#some / 2, 8), removed + #old
until texts[1] or cursor == '0' or scanned >= tonumber(ARGV[2])
items[1] = texts[1] and 'e' or string.format('y%d/%s', removed, cursor)
-- include identity
-- include answer
