-- begin: the first part of all scripts of this package
-- KEYS     hash of the prefix, hash of the jobs, then the script's own keys
-- ARGV     list, as in guard; flags: b accepts a server whose identity cannot be seen, s leaves the guard as it is;
--          field of the marker in the first hash; then the script's own arguments
-- The second hash has the header in the field '', and the entry of each job in the field of its name. The parts of the header have
-- fixed widths: LAYOUT BEGAN IDENTITY PROMISED FLOOR ALIVE SETTLED LEADER. They are: layout (2), start of the incarnation (µs, 16),
-- the first part of the server's identity in it (12), the largest ballot that the server has promised (26: epoch, 6; when it was taken,
-- µs, 16; 4 random digits), the newest tick that a deleted job may have opened (ms, 13), when the server last heard from the leader
-- (µs, 16), 1 if the leader has written all of its jobs under that ballot, 2 if all but those of sources that it has not loaded, else
-- 0 (1), and the leader. What was decided in an earlier list of nodes may be on few servers of the new one. So a server that joins a list
-- owes for each election until a leader has written all of its jobs in that list: see list.lua. Until then it says so, and counts as one
-- that may have lost its state.
local ahead = 2000000 -- µs that a ballot, a mark or a setting may be ahead of the server's clock
local sub = string.sub
local t = redis.call('TIME')
local now, hash, jobs, list = t[1] * 1000000 + t[2], KEYS[1], KEYS[2], ARGV[1]
local anonymous, readonly = string.find(ARGV[2], 'b', 1, true), string.find(ARGV[2], 's', 1, true)
local fields = redis.call('HMGET', hash, 'g', ARGV[3], 'o')
local guard, marker, identity = fields[1], fields[2], nil
-- include guard
local header = redis.call('HGET', jobs, '')

-- failed is the item of a server that refuses this client, and failure its text. A running guard is no reason to refuse. A server that was
-- never used has nothing to show, whatever the reader's list.
local failed, failure = nil, ''
if list ~= '' and refusal and sub(refusal, 1, 1) ~= 'g' and (guard or header or not readonly) then
  failed, failure = sub(refusal, 1, 1) == 'l' and refusal or 'e', reason or ''
  if sub(refusal, 1, 1) == 'b' then
    failure = 'scripts may not call INFO: a restart of the server could not be seen'
  end
elseif header and sub(header, 1, 2) ~= '3 ' then
  failed, failure = 'e', 'the jobs have layout ' .. string.match(header, '^[^ ]*') .. ', this version knows 3'
end

-- far reports whether this server cannot have written a time (µs)
local function far(text)
  local at = tonumber(text)
  return not at or at > now + ahead
end

-- quiet reports whether the server has not heard from its leader for a second. A time ahead of now was written before the clock
-- was set back.
local function quiet()
  local alive = tonumber(sub(header, 74, 89))
  return not alive or alive + 1000000 < now or alive > now
end

-- began is the start of a new incarnation, or nil if the header's incarnation continues. If one of the two hashes is lost or
-- replaced by an older one, it does not match the other one or the guard.
local ident, began = list == '' and string.rep('-', 12) or sub(guard or '', 3, 14), nil
if failed then
  ident = '-'
elseif not header and not marker then
  began = list == '' and now or tonumber(since)
elseif not header or sub(header, 3, 18) ~= marker or far(marker) or not tonumber(sub(header, 33, 38))
  or far(sub(header, 39, 54)) or not tonumber(sub(header, 60, 72)) then
  began = now
elseif list ~= '' and (sub(header, 20, 31) ~= ident or tonumber(since) > tonumber(marker)) then
  began = tonumber(since)
end

-- whole is whether a majority of servers like this one knows what was decided in earlier lists
local owes = fields[3] or '\n'
local _, owed = string.find(owes, '\n' .. ARGV[3] .. '\t', 1, true) -- what follows says since when
local whole = list == '' or not owed or tonumber(sub(owes, owed + 1, owed + 13)) == 0

-- tag is the prefix of the entries of this incarnation
local tag = string.format('%016d', began or tonumber(marker or '0')) .. ident

-- new is whether it had nothing to lose when this incarnation began: see list.lua
local new = not whole and string.find(owes, '\nnew ' .. sub(tag, 1, 16) .. '\n', 1, true)

local items, texts = {}, {}

local function answer()
  local label = list ~= '' and '.' .. (guard and sub(guard, 91, 98) or '-') or ''
  local line = t[1] .. ' ' .. t[2] .. ' ' .. sub(identity or '-', 1, 12) .. label .. ' ' .. table.concat(items, ' ')
  if not texts[1] then
    return line
  end
  return {line, unpack(texts)}
end

-- believed returns a request unless it is malformed or its version is more than ten years ahead: no replica makes such a request, and
-- it must not stop all jobs of a call. While the clocks are behind earlier ones, versions are ahead of them.
local function believed(request)
  local version = request and tonumber(sub(request, 1, 16))
  if version and version <= now + 315360000000000 then
    return request
  end
end

-- report appends the item of a job, and its entry
local function report(entry, more)
  local kind = 'n'
  if entry then
    kind, texts[#texts + 1] = whole and sub(entry, 1, 28) == tag and 'v' or 'o', entry
  end
  items[#items + 1] = kind .. (more or 0)
end

if failed then
  items[1], texts[1] = failed, failed == 'e' and failure or nil
  return answer()
end
