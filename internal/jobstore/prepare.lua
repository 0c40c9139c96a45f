-- prepare: promises to serve no smaller ballot any more, and returns what the server knows of jobs
-- KEYS     ...
-- ARGV     ..., ballot, leader, then the jobs' names
-- returns  p, /1 if the server is whole, or /2 if it is new, the previous header, the floor, and for each job an item and its texts: v,
--          the entry; o, an entry of an earlier incarnation; n: there is no entry
--          or r, header: a larger ballot was promised; a: the ballot is ahead of the clock; s: the ballot is not far enough
--          after the start of the incarnation; each with the number of µs since that start
local ballot, leader = ARGV[4], ARGV[5]
local kept = header
if began then
  local floor = tonumber(sub(kept or '', 60, 72)) and sub(kept, 60, 72) or string.rep('0', 13)
  local promised = string.rep('0', 26)
  local epoch, taken = tonumber(sub(kept or '', 33, 38)), tonumber(sub(kept or '', 39, 54))
  if epoch and taken and taken > now + ahead and epoch < 999999 then -- the clock was set back: serve no ballot of this epoch any more
    promised = string.format('%06d', epoch + 1) .. string.rep('0', 20)
  elseif epoch and taken then
    promised = sub(kept, 33, 58)
  end
  header = string.format('3 %016d %s %s %s %s 0 ', began, ident, promised, floor, string.rep('0', 16))
  redis.call('HSET', jobs, '', header)
  redis.call('HSET', hash, ARGV[3], sub(header, 3, 18), 'o', owed and owes or owes .. ARGV[3] .. '\t0000000000000\n')
end
local at, promised = tonumber(sub(ballot, 7, 22)), sub(header, 33, 58)
local age = string.format('%d', now - tonumber(sub(header, 3, 18)))
if promised > ballot then
  items[1], texts[1] = 'r' .. age, header
  return answer()
elseif at > now + ahead then
  items[1] = 'a' .. age
  return answer()
elseif at <= tonumber(sub(header, 3, 18)) + ahead then
  items[1] = 's' .. age
  return answer()
end
redis.call('HSET', jobs, '', sub(header, 1, 32) .. ballot .. sub(header, 59, 73) .. string.format('%016d 0 ', now) .. leader)
items[1], texts[1] = 'p' .. age .. (whole and '/1' or new and '/2' or ''), kept or ''
texts[2] = sub(header, 60, 72)

local names = {}
for i = 6, #ARGV do
  names[i - 5] = ARGV[i]
end
local found = names[1] and redis.call('HMGET', jobs, unpack(names)) or {}
for i = 1, #names do
  report(found[i])
end
return answer()
