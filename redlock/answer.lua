-- answer: the end of the lock scripts. It returns one line for all locks, followed by the texts of the items that have
-- one. One line, because each value of a list costs the client an allocation.
-- needs     t, identity, n, items and texts (from 2 to n)
local line = t[1] .. ' ' .. t[2] .. ' ' .. string.sub(identity or '-', 1, 12) .. ' ' ..
  (n == 2 and items[2] or table.concat(items, ' ', 2, n))
if not next(texts) then
  return line
end
local reply = {line}
for i = 2, n do
  reply[#reply + 1] = texts[i]
end
return reply
