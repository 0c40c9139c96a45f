-- rights: returns which commands the user may not run. It runs none of them.
-- ARGV     commands with all their arguments, separated by spaces
-- returns  the numbers of those commands, from 1; or 0 alone if the server, before 7.0, cannot tell
if not redis.acl_check_cmd then
  return {0}
end
local lacking = {}
for i, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, '%S+') do
    words[#words + 1] = word
  end
  if not redis.acl_check_cmd(unpack(words)) then
    lacking[#lacking + 1] = i
  end
end
return lacking
