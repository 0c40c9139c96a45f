-- record: a term, of which the newest 100 are kept
-- KEYS     terms: a sorted set of TOKEN SINCE+LASTED REPLICA (µs), by token, which nothing rests on. After the last record of a
--          term a point follows LASTED; the first record of a term has neither + nor LASTED
-- ARGV     token, TOKEN SINCE+LASTED REPLICA
-- returns  SECONDS MICROSECONDS -
local t = redis.call('TIME')
local function trim()
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -101)
end
trim() -- before it adds: whoever may not trim must not add
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
local kept = redis.call('ZREVRANGE', KEYS[1], 0, 100)
for i = #kept, 1, -1 do -- what was recorded of the same term before
  if kept[i] ~= ARGV[2] and string.match(kept[i], '^%d+') == ARGV[1] then
    redis.call('ZREMRANGEBYRANK', KEYS[1], -i, -i)
  end
end
trim()
redis.call('PEXPIRE', KEYS[1], '34560000000') -- 400 days
return t[1] .. ' ' .. t[2] .. ' -'
