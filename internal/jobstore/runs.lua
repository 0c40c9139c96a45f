-- runs: returns the newest items of a list of a job: records of runs, or settings
-- KEYS     ..., the list
-- ARGV     ..., how many
-- returns  h, header, and k and the number of items, with the items, the newest first
items[1], texts[1] = 'h' .. string.format('%d', now - tonumber(marker or '0')), header or ''
local records = redis.call('LRANGE', KEYS[3], 0, ARGV[4] - 1)
items[2] = 'k' .. #records
for i, record in ipairs(records) do
  texts[i + 1] = record
end
return answer()
