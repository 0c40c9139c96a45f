-- overwrite: store changes that take no memory, in fields that exist. A server without memory to spare refuses HSET, unless
-- the script has written before: so it removes something that is not there, if it may.
-- needs     hash, changes
if changes[1] and type(redis.pcall('HSET', hash, unpack(changes))) ~= 'number' then
  redis.pcall('HDEL', hash, '')
  redis.call('HSET', hash, unpack(changes))
end
