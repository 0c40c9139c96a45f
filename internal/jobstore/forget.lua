-- forget: deletes a job and its history
-- KEYS     ..., hash of requests, names, the job's runs, its past requests
-- ARGV     ..., job, for how many µs a leader that this server has not heard from may still lead, and nothing more to ask if the job
--          may be deleted; or ballot and seq of the newest entry that is deleted, '' if there is none
-- returns  h, header, and y and a text: the job may be deleted, whose entry has this ballot and seq, or is deleted; o: the leader has
--          written it, or may not yet have written all of its jobs, or there is a newer entry
items[1], texts[1] = 'h' .. string.format('%d', now - tonumber(marker or '0')), header or ''
local entry = redis.call('HGET', jobs, ARGV[4])
-- a server that has lost its state may have heard from a leader until then
local alive = math.max(header and tonumber(sub(header, 74, 89)) or 0, began or tonumber(marker))
local position = sub(entry or '', 29, 62)
local serves = began or not header or sub(header, 91, 91) ~= '1' or sub(position, 1, 26) == sub(header, 33, 58)
local removed = entry and string.find(entry, ' removed=1', 1, true)
items[2], texts[2] = 'y', position
if not ARGV[6] then
  if serves and not removed and alive + tonumber(ARGV[5]) > now then
    items[2] = 'o'
  end
  return answer()
elseif position > ARGV[6] then
  items[2] = 'o'
  return answer()
end
-- its ticks must not be opened again: those up to its mark, and those that were opened before the clock was set back
local ran = string.match(entry or '', ' ran=%d*,(%d+)')
local floor = math.max(tonumber(sub(entry or '', 63, 75)) or 0, tonumber(ran or '0'))
if header and floor > tonumber(sub(header, 60, 72)) then
  redis.call('HSET', jobs, '', sub(header, 1, 59) .. string.format('%013d', floor) .. sub(header, 73))
end
redis.call('HDEL', jobs, ARGV[4])
for i, field in ipairs(redis.call('HGETALL', KEYS[3])) do
  if i % 2 == 1 and sub(field, (string.find(field, ':', 1, true) or 0) + 1) == ARGV[4] then
    redis.call('HDEL', KEYS[3], field)
  end
end
redis.call('ZREM', KEYS[4], ARGV[4])
redis.call('DEL', KEYS[5], KEYS[6])
return answer()
