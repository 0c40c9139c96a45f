-- page: returns what the server knows of named jobs, or of a page of all jobs, sorted by the bytes of their names
-- KEYS     ..., hash of requests, names
-- ARGV     ..., the last name of the previous page or '', names in a page, then the jobs' names; none for a page
-- returns  h and the number of µs since the start of the incarnation, header, and for each job an item as in prepare, with the number
--          of its requests, and as texts its name, its entry if there is one, and the verb of each request with the request
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

-- what people want of the jobs and their leader has not applied yet: a pause or its end, a trigger, and a cancel. Usually there is
-- nothing at all.
local verbs, asked, fields = {'p', 't', 'c'}, {}, {}
if names[1] and redis.call('HLEN', KEYS[3]) > 0 then
  for i, name in ipairs(names) do
    for n, verb in ipairs(verbs) do
      fields[#verbs * (i - 1) + n] = verb .. ':' .. name
    end
  end
  asked = redis.call('HMGET', KEYS[3], unpack(fields))
end
for i, name in ipairs(names) do
  texts[#texts + 1] = name
  local more = {}
  for n, verb in ipairs(verbs) do
    local request = believed(asked[#verbs * (i - 1) + n])
    if request then
      more[#more + 1] = verb .. request
    end
  end
  report(found[i], #more)
  for _, request in ipairs(more) do
    texts[#texts + 1] = request
  end
end
return answer()
