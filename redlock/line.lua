-- line: drop those from a line whose promise has passed, and find the entry of one process
-- needs     sub, now; line, and the id of the process
-- declares  own: where the entry starts, nil if there is none
local k, first, last = 1, nil, nil
while k + 27 <= #line do
  local promise = sub(line, k + 12, k + 27)
  if not first then -- compared as texts: all have 16 digits
    first, last = string.format('%016d', now), string.format('%016d', now + 86400000000)
  end
  if promise <= first or promise > last then
    line = sub(line, 1, k - 1) .. sub(line, k + 28)
  else
    own = sub(line, k, k + 11) == id and k or own
    k = k + 28
  end
end
line = sub(line, 1, k - 1)
