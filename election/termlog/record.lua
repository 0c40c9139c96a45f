-- record: adds a record of a term, or replaces it; the newest 100 terms are kept
-- KEYS     terms: a sorted set of TOKEN SINCE+LASTED REPLICA (µs), by token; for people only. In the last record of a term, a
--          dot follows LASTED. The first record of a term has neither + nor LASTED
-- ARGV     token, TOKEN SINCE+LASTED REPLICA
-- returns  SECONDS MICROSECONDS -
local t = redis.call('TIME')
local function trim()
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -101)
end
trim() -- before adding: a user without the permission to trim must not add
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
local kept = redis.call('ZREVRANGE', KEYS[1], 0, 100)
for i = #kept, 1, -1 do -- remove earlier records of the same term
  if kept[i] ~= ARGV[2] and string.match(kept[i], '^%d+') == ARGV[1] then
    redis.call('ZREMRANGEBYRANK', KEYS[1], -i, -i)
  end
end
trim()
redis.call('PEXPIRE', KEYS[1], '34560000000') -- 400 days
return t[1] .. ' ' .. t[2] .. ' -'
