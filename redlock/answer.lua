-- answer: the end of the lock scripts. It returns one line for all locks, followed by the texts of those items that have
-- one, in their order. One line, because each value of a list costs the client an allocation.
-- needs     t, identity, guard ('' if the script does not know it), sub, items and texts
local answer = t[1] .. ' ' .. t[2] .. ' ' .. sub(identity or '-', 1, 12) .. '.' .. (guard and sub(guard, 91, 98) or '-') .. ' ' ..
  (items[2] and table.concat(items, ' ') or items[1])
return texts[1] and {answer, unpack(texts)} or answer
