-- names: what jobs are called, in the order of their bytes, a page
-- KEYS     hash, names
-- ARGV     list, flags, the last name of the page before or '', names in a page
-- returns  {time, 1, names}
local instead = memory()
if instead then
  return instead
end
local from = ARGV[3] == '' and '-' or '(' .. ARGV[3]
return {now, 1, redis.call('ZRANGEBYLEX', KEYS[2], from, '+', 'LIMIT', 0, ARGV[4])}
