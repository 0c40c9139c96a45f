-- collect: KEYS none, ARGV none. Returns for each string and hash: key, expiry (ms since 1970 by the
-- machine's clock, -1 for never), then the string's value or a list of the hash's fields and values.
local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind, value = redis.call('TYPE', key).ok, nil
  if kind == 'string' then
    value = redis.call('GET', key)
  elseif kind == 'hash' then
    value = redis.call('HGETALL', key)
  end
  if value then
    table.insert(all, {key, redis.call('PEXPIRETIME', key), value})
  end
end
return all
