-- forget: deletes a job and its history
-- KEYS     ..., hash of settings, names, changes, the job's runs, its past settings
-- ARGV     ..., job, ballot and seq of the newest entry that may be deleted, or '' for none
-- returns  h, header, and y: the job is deleted; o and a text: there is this newer entry
items[1], texts[1] = 'h' .. string.format('%d', now - tonumber(marker or '0')), header or ''
local entry = redis.call('HGET', jobs, ARGV[4])
if entry and sub(entry, 29, 62) > ARGV[5] then
  items[2], texts[2] = 'o', entry
  return answer()
end
items[2] = 'y'
if entry and header and sub(entry, 63, 75) > sub(header, 60, 72) then -- its ticks must not be opened again
  redis.call('HSET', jobs, '', sub(header, 1, 59) .. sub(entry, 63, 75) .. sub(header, 73))
end
redis.call('HDEL', jobs, ARGV[4])
redis.call('HDEL', KEYS[3], 'p:' .. ARGV[4], 't:' .. ARGV[4])
redis.call('ZREM', KEYS[4], ARGV[4])
redis.call('ZREM', KEYS[5], ARGV[4])
redis.call('DEL', KEYS[6], KEYS[7])
return answer()
