-- list: what this server remembers of lists of nodes, and the changes to it
-- KEYS     hash of the prefix
-- ARGV     longest lease of the caller (ms); b to accept a server that hides its identity; a verb and its arguments:
--          look              changes nothing
--          enter ID JOINED   the server gets that id if it has none, or if it is joined in that list, which it forgets
--          take LIST OWES    it serves no older list any more
--          join LIST OWES    it serves the list that it has taken
--          swap FROM LIST    it serves a later list, with at most one other server, instead of FROM
--          force LIST OWES   it serves that list
-- returns  SECONDS MICROSECONDS IDENTITY.LABEL, and y if done, n if refused, or e and text: another version wrote the hash;
--          b: the server hides its identity. After y and n follow uMS/LONGEST: it counts as unused in so many ms, by the
--          longest lease known (ms); and as texts what it remembers now, and what it owes
-- A list is LABEL:TURN:WHERE:ID,ID,..., where WHERE tells the addresses of who made it, if it can. The field s of the hash has
-- ID JOINED TAKEN..., with - for what there is not. The label of the guard is that of the joined list, or - for each digit if
-- the server has taken another list: so the guard alone says what to serve. The field o has what the server owes, a line each: the lists to
-- which it owes; and for each election that it knows, the field of the marker (see begin.lua), a tab, and since when it owes (ms, 13), or
-- zeros if it does not; and new, if its first list was made so that it had nothing to lose, with a space and the start of its guard.
local t = redis.call('TIME')
local now, hash, sub, verb = t[1] * 1000000 + t[2], KEYS[1], string.sub, ARGV[3]
local ms = math.floor(now / 1000)
local found = redis.call('HMGET', hash, 'g', 's', 'o')
local guard, identity, longest = found[1], nil, tonumber(ARGV[1])
-- include identity

-- answer returns an item, others, and texts
local function answer(item, ...)
  return {t[1] .. ' ' .. t[2] .. ' ' .. sub(identity or '-', 1, 12) .. '.' .. (guard and sub(guard, 91, 98) or '-') .. ' ' .. item, ...}
end
if guard and (#guard ~= 120 or sub(guard, 1, 2) ~= '3 ') then
  local layout = string.match(guard, '^[^ ]*')
  guard = nil
  return answer('e', 'the hash has layout ' .. layout .. ', this version knows 3')
elseif not identity and ARGV[2] ~= 'b' then
  return answer('b')
end

local words = {}
for word in string.gmatch(found[2] or '', '[^ ]+') do
  words[#words + 1] = word
end
local id, joined, taken = words[1] or '-', guard and words[2] or '-', {}
for i = 3, #words do
  taken[#taken + 1] = words[i]
end
local last = taken[#taken] or joined

-- elections returns what is owed, without the lists
local function elections(owes)
  return (string.gsub(owes, '\n%x[^\n]*', ''))
end
local owes, owing, month = found[3] or '', false, 30 * 86400000
for since in string.gmatch(owes, '\t(%d+)\n') do
  -- nobody leads an election that was renamed: that must not keep a list from changing forever
  owing = owing or tonumber(since) > ms - month
end
owes = owing and owes or elections(owes)

local function has(list, one)
  return string.find(string.gsub(list, '^.*:', ',') .. ',', ',' .. one .. ',', 1, true) ~= nil
end
local function turn(list)
  return tonumber(string.match(list, ':(%d+):')) or 0
end
local function where(list)
  return string.match(list, '^[^:]*:[^:]*:([^:]*)')
end
-- shared returns how many servers of a list are in another one, and how many there are
local function shared(list, other)
  local n, all = 0, 0
  for one in string.gmatch(string.match(list, '[^:]*$'), '[^,]+') do
    n, all = n + (has(other, one) and 1 or 0), all + 1
  end
  return n, all
end

-- times returns for how many ms the server still counts as used, and the longest lease known
local function times()
  if not guard then
    return 0, longest
  end
  local kept = math.min(tonumber(sub(guard, 78, 89)), math.max(86400000, 100 * longest)) -- with the guard's limit
  local used = tonumber(sub(guard, 108, 120))
  return used > ms and 0 or math.max(used + kept + 1000 - ms, 0), kept -- the clock was set back: take counts from now on
end

local function begin(label)
  local _, kept = times()
  kept = math.max(kept, longest)
  guard = string.format('3 %s %016d %016d %012d %s %013d', identity or guard and sub(guard, 3, 42) or string.rep('-', 40), now,
    now + kept * 1000, kept, label, ms)
  redis.call('HSET', hash, 'g', guard)
end

-- follows reports whether the server may change to a later list: it shares a majority with each list remembered, or owed to, or has the
-- same addresses, so that the others lost their data
local function follows(list)
  local lists = {joined, unpack(taken)}
  for one in string.gmatch(owes, '\n(%x[^\n]*)') do
    lists[#lists + 1] = one
  end
  for _, before in ipairs(lists) do
    local n, all = shared(before, list)
    local known = 2 * n > all or where(list) ~= '' and where(list) == where(before)
    if before ~= '-' and (turn(list) <= turn(before) or not known) then
      return false
    end
  end
  return true
end

local list, done = ARGV[4], true
-- given is what a server owes that the process tells: it owes from now on for elections for which the others did not
local given = '\n' .. string.gsub(ARGV[5] or '', '\t0+\n', string.format('\t%013d\n', ms))
if verb == 'enter' then
  if id == '-' or joined == ARGV[5] and #taken == 0 then
    id, joined, owes = list, '-', ''
  end
elseif verb == 'swap' then
  local from = list
  list = ARGV[5]
  local n, all = shared(from, list)
  local _, new = shared(list, from)
  local near = n >= all - 1 and new == all and turn(list) > turn(from)
  done = #taken == 0 and (joined == list or joined == from and near)
  done = done and has(list, id)
  joined = done and list or joined
elseif verb ~= 'look' and not has(list, id) then
  done = false
elseif verb == 'take' and last ~= list then
  if guard and joined ~= '-' and (identity and identity ~= sub(guard, 3, 42) or tonumber(sub(guard, 44, 59)) > now) then
    begin(sub(guard, 91, 106)) -- another run counts as used now: what it has forgotten may have been extended until then
  elseif guard and tonumber(sub(guard, 108, 120)) > ms then
    guard = sub(guard, 1, 107) .. string.format('%013d', ms) -- the clock was set back
    redis.call('HSET', hash, 'g', guard)
  end
  done = (joined == '-' or times() == 0) and follows(list)
  taken[#taken + 1] = done and list or nil
  owes = done and joined == '-' and string.gsub(owes, '\nnew\n', '\n') .. sub(given, owes == '' and 1 or 2) or owes
elseif verb == 'join' and (joined ~= list or #taken > 0) then
  done = last == list
  local new = string.match(owes, '\n(new[^\n]*\n)') or ''
  if done and joined == '-' then
    begin(sub(list, 1, 16))
    new = string.gsub(new, '\n', ' ' .. sub(guard, 44, 59) .. '\n')
  elseif done then
    local high = redis.call('HGET', hash, 'h') or ''
    redis.call('HSET', hash, 'h', math.max(tonumber(high) or 0, now) == now and string.format('%016d', now) or high)
    guard = sub(guard, 1, 107) .. string.format('%013d', ms)
  end
  if done then
    joined, taken, owes = list, {}, given .. new
  end
elseif verb == 'force' then
  joined, taken, owes = list, {}, elections(given)
  begin(sub(list, 1, 16))
end
if done and verb ~= 'look' then
  if guard then
    local serves = #taken == 0 and joined ~= '-'
    guard = sub(guard, 1, 90) .. (serves and sub(joined, 1, 16) or string.rep('-', 16)) .. sub(guard, 107)
    redis.call('HSET', hash, 'g', guard)
  end
  redis.call('HSET', hash, 's', table.concat({id, joined, unpack(taken)}, ' '))
  if #owes > 1 or found[3] then
    redis.call('HSET', hash, 'o', owes)
  end
end
return answer(string.format('%s u%d/%d', done and 'y' or 'n', times()),
  table.concat({id, joined, unpack(taken)}, ' '), owes)
