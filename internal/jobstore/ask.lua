-- ask: keeps what somebody wants of a job until the leader has applied it
-- KEYS     ..., hash of requests, the job's past requests
-- ARGV     ..., job, p (pause), t (trigger), c (cancel) or r with a tick and a slash, request, channel, the largest number of requests
--          to keep
-- returns  l0: the server is in no list of nodes; or h, header, and y: the server has the request, or a newer one in its place, and has
--          published it; n: no such job; f: too many requests wait for a leader
if list ~= '' and not guard then
  items[1] = 'l0' -- it is in no list, so what it does not know says nothing
  return answer()
end
items[1], texts[1] = 'h' .. string.format('%d', now - tonumber(marker or '0')), header or ''
local field = ARGV[5] .. ':' .. ARGV[4]
local present = believed(redis.call('HGET', KEYS[3], field))
if not redis.call('HGET', jobs, ARGV[4]) then
  items[2] = 'n'
elseif not present and redis.call('HLEN', KEYS[3]) >= tonumber(ARGV[8]) then
  items[2] = 'f'
else
  items[2] = 'y'
  if present ~= ARGV[6] then
    redis.call('LPUSH', KEYS[4], ARGV[5] .. ARGV[6])
    redis.call('LTRIM', KEYS[4], 0, 19)
  end
  if not present or sub(present, 1, 22) < sub(ARGV[6], 1, 22) then
    redis.call('HSET', KEYS[3], field, ARGV[6])
    redis.pcall('PUBLISH', ARGV[7], ARGV[5] .. ' ' .. ARGV[6]) -- if the user lacks this permission, the leader learns of it by polling
  end
end
return answer()
