-- set: a pause, its end, or a trigger
-- KEYS     ..., hash of settings, changes, the job's past settings
-- ARGV     ..., job, p (pause) or t (trigger), setting, channel
-- returns  h, header, and y: it is set and published; o and a text: this newer setting stands; n: there is no such job
items[1], texts[1] = 'h' .. string.format('%d', now - tonumber(marker or '0')), header or ''
local latest = string.format('%d', now + day)
local field = ARGV[5] .. ':' .. ARGV[4]
local stands = believed(redis.call('HGET', KEYS[3], field))
if not redis.call('HGET', jobs, ARGV[4]) then
  items[2] = 'n'
elseif stands and sub(stands, 1, 22) > sub(ARGV[6], 1, 22) then
  items[2], texts[2] = 'o', stands
else
  items[2] = 'y'
  if stands ~= ARGV[6] then
    redis.call('HSET', KEYS[3], field, ARGV[6])
    redis.call('LPUSH', KEYS[5], ARGV[5] .. ARGV[6])
    redis.call('LTRIM', KEYS[5], 0, 19)
    -- The numbers of changes rise on a server, even if its clock is set back. Those that are a day ahead are not ours.
    local newest = redis.call('ZREVRANGEBYSCORE', KEYS[4], latest, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
    local number = math.max(tonumber(sub(ARGV[6], 1, 16)), tonumber(newest[2] or '0') + 1)
    redis.call('ZADD', KEYS[4], string.format('%d', number), ARGV[4])
    redis.pcall('PUBLISH', ARGV[7], ARGV[5] .. ' ' .. ARGV[6]) -- without this right the leader learns of it by polling
  end
end
return answer()
