-- record: a term, of which the newest 100 are kept
-- KEYS     terms: a sorted set of TOKEN SINCE REPLICA (since: µs), by token, which nothing rests on
-- ARGV     token, TOKEN SINCE REPLICA
-- returns  SECONDS MICROSECONDS -
local t = redis.call('TIME')
local function trim()
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -101)
end
trim() -- before it adds: whoever may not trim must not add
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
trim()
redis.call('PEXPIRE', KEYS[1], '34560000000') -- 400 days
return t[1] .. ' ' .. t[2] .. ' -'
