-- raise: raise the number of a lock if it is lower
-- KEYS     hash of the prefix
-- ARGV     field, number (16 digits)
-- returns  SECONDS MICROSECONDS IDENTITY.LABEL, and y, or e and text if this library did not write the record
local t = redis.call('TIME')
local now, hash, sub, field, number = t[1] * 1000000 + t[2], KEYS[1], string.sub, ARGV[1], ARGV[2]
local identity, guard, items, texts = nil, redis.call('HGET', hash, 'g'), {'y'}, {}
local record = redis.call('HGET', hash, field) or string.format('%016d %016d %016d ', 0, 0, now)
local deadline = tonumber(sub(record, 35, 50))
if not deadline then
  items, texts = {'e'}, {'this library did not write the record ' .. sub(record, 1, 60)}
elseif record < number then
  -- The retention of a free lock's record starts now.
  redis.call('HSET', hash, field, number .. sub(record, 17, 34) .. string.format('%016d ', math.max(deadline, now)) ..
    sub(record, 52))
end
-- include identity
-- include answer
