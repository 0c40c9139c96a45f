-- extend: prolong each lock that is still ours, and raise its fence where it is behind
-- KEYS     guard, then for each name: lock, fence
-- ARGV     longest ttl (ms; 0: no guard), nodes in the list, then for each name: value, ttl (ms), token
--          (0: the fence is known to be there)
-- returns  {time, answer...}, one for each name:
--          1                       extended
--          0                       the lock is gone
--          {5, layout}             the fence was written by another version, nothing was done
--          {value, ttl}            held by that value, for so many ms
local t = redis.call('TIME')
local answers = {t[1] * 1000000 + t[2]}

local longest = tonumber(ARGV[1])
if longest > 0 then
  -- This list of nodes is in use.
  local ms = math.floor(answers[1] / 1000)
  local g = redis.call('HMGET', KEYS[1], 'nodes', 'used')
  if g[1] == ARGV[2] and tonumber(g[2]) + longest / 8 <= ms then
    redis.call('HSET', KEYS[1], 'used', string.format('%.0f', ms))
  end
end

for i = 1, (#ARGV - 2) / 3 do
  local lock, fence = KEYS[2 * i], KEYS[2 * i + 1]
  local value, ttl, token = ARGV[3 * i], ARGV[3 * i + 1], ARGV[3 * i + 2]
  local holder = redis.call('GET', lock)
  if not holder then
    answers[i + 1] = 0
  elseif holder ~= value then
    answers[i + 1] = {holder, redis.call('PTTL', lock)}
  else
    -- The number keeps the guard that it was counted under: what was forgotten stays so.
    local have = token ~= '0' and redis.call('GET', fence)
    local number, under = string.match(have or '', '^1:(%d+):(%d+)$')
    if have and not number then
      answers[i + 1] = {5, string.match(have, '^[^:]*')}
    else
      if token ~= '0' and tonumber(number or '0') < tonumber(token) then
        redis.call('SET', fence, '1:' .. token .. ':' .. (under or '0'), 'PX', 604800000)
      end
      redis.call('PEXPIRE', lock, ttl)
      answers[i + 1] = 1
    end
  end
end
return answers
