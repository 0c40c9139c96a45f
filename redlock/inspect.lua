-- inspect: return the server's properties and its guard, without changing anything
-- KEYS     hash of the prefix
-- ARGV     longest lease of the caller (ms; 0: no guard)
-- returns  SECONDS MICROSECONDS IDENTITY, an item, and texts: the sections server, replication and memory of INFO, each
--          empty if not permitted or not known; what the server remembers of lists of nodes, see internal package lists; and for e
--          the problem. The identity is the server's own.
--          gLEFT/LONGEST  the guard refuses for LEFT ms; LONGEST is the longest lease that it knows of (ms)
--          n              there is no guard of this server yet
--          e              another version wrote the hash
local t = redis.call('TIME')
local now, longest = t[1] * 1000000 + t[2], tonumber(ARGV[1])
local reply = {}
for i, section in ipairs({'server', 'replication', 'memory'}) do
  local info = redis.pcall('INFO', section)
  reply[i + 1] = type(info) == 'string' and info or ''
end
local id = string.match(reply[3], 'master_replid:(%x+)') or string.match(reply[2], 'run_id:(%x+)')
local guard, item = redis.call('HGET', KEYS[1], 'g'), 'n'
reply[5] = redis.call('HGET', KEYS[1], 's') or ''
if not guard then -- a server without a guard is not joined
  reply[5] = string.gsub(reply[5], '^(%S+ %S+) %S+', '%1 -')
end
if guard then
  local layout = string.match(guard, '^(%d+) ')
  local since = tonumber(string.sub(guard, 44, 59))
  if layout ~= '3' then
    item, reply[6] = 'e', 'the hash has layout ' .. (layout or string.sub(guard, 1, 20)) .. ', this version knows 3'
  elseif (not id or id == string.sub(guard, 3, 42)) and since <= now then
    local kept = math.min(tonumber(string.sub(guard, 78, 89)), math.max(86400000, 100 * longest)) -- with the guard's limit
    local left = math.ceil((since + math.max(longest, kept) * 1000 - now) / 1000)
    item = string.format('g%d/%d', math.max(left, 0), kept)
  end
end
reply[1] = t[1] .. ' ' .. t[2] .. ' ' .. string.sub(id or '-', 1, 12) .. ' ' .. item
return reply
