-- terms: returns the newest 100 records; changes nothing
-- KEYS     terms, as in record
-- returns  SECONDS MICROSECONDS -, and the records as texts, the newest first
local t = redis.call('TIME')
return {t[1] .. ' ' .. t[2] .. ' -', unpack(redis.call('ZREVRANGE', KEYS[1], 0, 99))}
