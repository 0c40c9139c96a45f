-- KEYS[1]: the fence of a resource. ARGV[1]: a token, in digits.
-- Stores the token unless a larger one is stored, and returns the largest. Tokens are compared as text: the numbers of Lua are
-- exact up to 2^53 only.
local seen = redis.call('GET', KEYS[1])
if seen and (#seen > #ARGV[1] or #seen == #ARGV[1] and seen >= ARGV[1]) then
  return seen
end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
