-- collect: KEYS none, ARGV none. Returns for each string, hash, sorted set and list: key, expiry (ms since 1970 by the
-- machine's clock, -1 for never), and the command that sets it.
local function commandOf(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'string' then
    return {'SET', key, redis.call('GET', key)}
  end
  local command, values
  if kind == 'hash' then
    command, values = {'HSET', key}, redis.call('HGETALL', key)
  elseif kind == 'list' then
    command, values = {'RPUSH', key}, redis.call('LRANGE', key, 0, -1)
  elseif kind == 'zset' then
    command, values = {'ZADD', key}, redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #values, 2 do
      values[i], values[i + 1] = values[i + 1], values[i]
    end
  else
    return nil
  end
  for _, value in ipairs(values) do
    table.insert(command, value)
  end
  return command
end

local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local command = commandOf(key)
  if command then
    table.insert(all, {key, redis.call('PEXPIRETIME', key), command})
  end
end
return all
