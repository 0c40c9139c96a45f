-- page: returns what the server knows of named jobs, or of a page of all jobs, sorted by the bytes of their names
-- KEYS     ..., hash of requests, names
-- ARGV     ..., the last name of the previous page or '', names in a page, then the jobs' names; none for a page
-- returns  h and the number of µs since the start of the incarnation, header, and for each job an item and its texts as in prepare,
--          with the name before the texts
items[1], texts[1] = 'h' .. string.format('%d', now - (began or tonumber(marker))), header or ''
local names, most = {}, tonumber(ARGV[5])
if ARGV[6] then
  for i = 6, #ARGV do
    names[i - 5] = ARGV[i]
  end
else
  names = redis.call('ZRANGEBYLEX', KEYS[4], ARGV[4] == '' and '-' or '(' .. ARGV[4], '+', 'LIMIT', 0, most)
end
local found = names[1] and redis.call('HMGET', jobs, unpack(names)) or {}
local set = requests(names)
for i = 1, #names do
  texts[#texts + 1] = names[i]
  report(found[i], believed(set[2 * i - 1]), believed(set[2 * i]))
end
return answer()
