-- acquire: take the lock if it is free, and the next fence number with it
-- KEYS     lock, fence, guard
-- ARGV     value, ttl (ms), longest ttl (ms; 0: no guard), nodes in the list, best before (µs; 0: ever)
-- returns  {time, 1, number[, longest]}  granted; also to the same value that asks again, as before
--          {time, 0, value, ttl}         held by that value, for so many ms
--          {time, 2, left, longest}      guarded, for so many ms
--          {time, 3, nodes}              lists of so many nodes are in use
--          {time, 4}                     too late, nothing was done
--          {time, 5, layout}             what is there was written by another version
local instead, since, longest = guard(KEYS[3], ARGV[3], ARGV[4], ARGV[5])
if instead then
  return instead
end

local fence = redis.call('GET', KEYS[2])
local layout, number, under = string.match(fence or '1:0:', '^([^:]*):(%d*):(%d*)$')
if layout ~= '1' then
  return {now, 5, string.match(fence, '^[^:]*')}
end
number = tonumber(number)

if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local holder = redis.call('GET', KEYS[1])
  if holder == ARGV[1] then
    return {now, 1, number}
  end
  -- What an earlier attempt of the same acquisition left gives way; everything else holds.
  local who, attempt = string.match(holder, '^1:([^:]*):(%d+):')
  local me, mine = string.match(ARGV[1], '^1:([^:]*):(%d+):')
  if who ~= me or tonumber(attempt) >= tonumber(mine) then
    return {now, 0, holder, redis.call('PTTL', KEYS[1])}
  end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end

number = number + 1
since = string.format('%d', since)
if under ~= since then
  -- The counter is gone or older than the guard: numbers may be forgotten. None was above the clock, and
  -- with a guard none is younger than the longest lease; so the seed can be rounded down by a little of
  -- that, and nodes whose clocks differ by less still count alike.
  number = math.max(number, now - now % math.max(math.floor(longest * 1000 / 64), 1))
end
redis.call('SET', KEYS[2], string.format('1:%d:', number) .. since, 'PX', 604800000)
if longest > tonumber(ARGV[3]) then
  return {now, 1, number, longest}
end
return {now, 1, number}
