-- sweep: remove some records of holds that ended longer ago than the retention, and lines whose promises passed then
-- KEYS     hash of the prefix
-- ARGV     cursor, number of fields to scan, retention (ms)
-- returns  SECONDS MICROSECONDS IDENTITY.LABEL, and yREMOVED/CURSOR: that many were removed, and the next sweep continues at this
--          cursor; or e and text: records cannot be removed
local t = redis.call('TIME')
local now, hash, sub = t[1] * 1000000 + t[2], KEYS[1], string.sub
local found = redis.call('HMGET', hash, 'g', 'h')
-- Another client with longer leases may round its seeds down by more, so keep records for twice the longest lease.
local longest = tonumber(sub(found[1] or '', 78, 89)) or 0
local past = now - 2000 * longest
local before = math.min(now - ARGV[3] * 1000, past)
-- If the clock was set back, a number may still be ahead of it. It stays, unless new numbers start above it: see extend.
local low, high = string.format('%016d', past), found[2] or ''
low = low < high and high or low
local identity, guard, items, texts = nil, '', {}, {}
local page = redis.pcall('HSCAN', hash, ARGV[1], 'COUNT', ARGV[2])
local fields, old = page[2] or {}, {} -- a small hash comes as a whole
for i = 1, #fields, 2 do
  local kind, value = sub(fields[i], 1, 2), fields[i + 1]
  -- The last one in a line usually promised to be there longest.
  local deadline = kind == 'n:' and tonumber(sub(value, 35, 50)) or kind == 'l:' and (tonumber(sub(value, -16)) or 0)
  if deadline and deadline < before and #old < 1000 and (kind == 'l:' or sub(value, 1, 16) <= low) then
    old[#old + 1] = fields[i]
  end
end
local done = old[1] and redis.pcall('HDEL', hash, unpack(old))
texts[1] = page.err or type(done) == 'table' and done.err or nil
items[1] = texts[1] and 'e' or string.format('y%d/%s', #old, page[1])
-- include identity
-- include answer
