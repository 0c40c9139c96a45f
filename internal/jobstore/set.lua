-- set: stores a pause, its end, or a trigger
-- KEYS     ..., hash of settings, changes, the job's past settings
-- ARGV     ..., job, p (pause) or t (trigger), setting, channel
-- returns  h, header, and y: the setting is stored and published; o and a text: there is this newer setting; n: no such job
items[1], texts[1] = 'h' .. string.format('%d', now - tonumber(marker or '0')), header or ''
local latest = string.format('%d', now + day)
local field = ARGV[5] .. ':' .. ARGV[4]
local present = believed(redis.call('HGET', KEYS[3], field))
if not redis.call('HGET', jobs, ARGV[4]) then
  items[2] = 'n'
elseif present and sub(present, 1, 22) > sub(ARGV[6], 1, 22) then
  items[2], texts[2] = 'o', present
else
  items[2] = 'y'
  if present ~= ARGV[6] then
    redis.call('HSET', KEYS[3], field, ARGV[6])
    redis.call('LPUSH', KEYS[5], ARGV[5] .. ARGV[6])
    redis.call('LTRIM', KEYS[5], 0, 19)
    -- The numbers of changes rise on a server, even if its clock is set back. Numbers more than a day ahead are ignored: this
    -- library does not write them.
    local newest = redis.call('ZREVRANGEBYSCORE', KEYS[4], latest, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
    local number = math.max(tonumber(sub(ARGV[6], 1, 16)), tonumber(newest[2] or '0') + 1)
    redis.call('ZADD', KEYS[4], string.format('%d', number), ARGV[4])
    redis.pcall('PUBLISH', ARGV[7], ARGV[5] .. ' ' .. ARGV[6]) -- if the user lacks this permission, the leader learns of the setting by polling
  end
end
return answer()
