-- inspect: what the server is, and its guard; changes nothing
-- KEYS     guard
-- ARGV     longest ttl (ms; 0: no guard)
-- returns  {time, server, replication, memory, left}: three sections of INFO, each empty where it is not
--          permitted or not known; for how many ms the guard refuses: -1 if there is none yet
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local answer = {now}
for i, section in ipairs({'server', 'replication', 'memory'}) do
  local info = redis.pcall('INFO', section)
  answer[i + 1] = type(info) == 'string' and info or ''
end
local g = redis.call('HMGET', KEYS[1], 'since', 'longest', 'id')
local left = -1
if g[1] then
  local id = (string.match(answer[2], 'run_id:(%x+)') or '') ..
    (string.match(answer[3], 'master_replid:(%x+)') or '')
  local longest = math.max(tonumber(ARGV[1]), tonumber(g[2] or '0'))
  if id == g[3] or id == '' then
    left = math.max(tonumber(g[1]) + longest - math.floor(now / 1000), 0)
  end
end
answer[5] = left
return answer
