-- extend: prolong each lock that is still ours, and raise its fence where it is behind
-- KEYS     guard, then for each name: lock, fence
-- ARGV     longest ttl (ms; 0: no guard), nodes in the list, then for each name: value, ttl (ms), token
--          (0: the fence is known to be there)
-- returns  {time, answer...}, one for each name:
--          1                       extended
--          0                       the lock is gone
--          {5, layout}             the fence was written by another version, nothing was done
--          {6, error}              there is something else than a lock or a fence, nothing was done
--          {value, ttl}            held by that value, for so many ms
local t = redis.call('TIME')
local answers = {t[1] * 1000000 + t[2]}

local longest = tonumber(ARGV[1])
if longest > 0 then
  -- This list of nodes is in use.
  local ms = math.floor(answers[1] / 1000)
  local g = redis.call('HMGET', KEYS[1], 'nodes', 'used')
  if g[1] == ARGV[2] and tonumber(g[2]) + longest / 8 <= ms then
    redis.call('HSET', KEYS[1], 'used', string.format('%d', ms))
  end
end

for i = 1, (#ARGV - 2) / 3 do
  local lock, fence = KEYS[2 * i], KEYS[2 * i + 1]
  local value, ttl, token = ARGV[3 * i], ARGV[3 * i + 1], ARGV[3 * i + 2]
  -- What is wrong with one name is not to be the others' failure.
  local holder = redis.pcall('GET', lock)
  local have = token ~= '0' and redis.pcall('GET', fence)
  local number, under = string.match(type(have) == 'string' and have or '', '^1:(%d+):(%d+)$')
  if not holder then
    answers[i + 1] = 0
  elseif type(holder) == 'table' then
    answers[i + 1] = {6, holder.err}
  elseif holder ~= value then
    answers[i + 1] = {holder, redis.call('PTTL', lock)}
  elseif type(have) == 'table' then
    answers[i + 1] = {6, have.err}
  elseif have and not number then
    answers[i + 1] = {5, string.match(have, '^[^:]*')}
  else
    -- The number keeps the guard that it was counted under: what was forgotten stays so.
    if token ~= '0' and tonumber(number or '0') < tonumber(token) then
      redis.call('SET', fence, '1:' .. token .. ':' .. (under or '0'), 'PX', 604800000)
    end
    redis.call('PEXPIRE', lock, ttl)
    answers[i + 1] = 1
  end
end
return answers
