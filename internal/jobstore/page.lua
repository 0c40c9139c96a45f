-- page: what the server knows of jobs: of those that are named, or of a page of all, in the order of the bytes of their names
-- KEYS     ..., names
-- ARGV     ..., the last name of the page before or '', names in a page, then the jobs' names, if it is not to be a page
-- returns  h, header, and for each job an item and its texts as prepare does, with the name before the texts
items[1], texts[1] = 'h' .. string.format('%d', now - tonumber(marker or '0')), header or ''
local jobs_names, most = {}, tonumber(ARGV[5])
if ARGV[6] then
  for i = 6, #ARGV do
    jobs_names[i - 5] = ARGV[i]
  end
else
  jobs_names = redis.call('ZRANGEBYLEX', KEYS[3], ARGV[4] == '' and '-' or '(' .. ARGV[4], '+', 'LIMIT', 0, most)
end
local names = {}
for _, name in ipairs(jobs_names) do
  local n = #names
  names[n + 1], names[n + 2], names[n + 3] = 'j:' .. name, 'p:' .. name, 't:' .. name
end
local found = names[1] and redis.call('HMGET', jobs, unpack(names)) or {}
for i = 1, #found, 3 do
  texts[#texts + 1] = jobs_names[(i + 2) / 3]
  tell(found[i], found[i + 1], found[i + 2])
end
return answer()
