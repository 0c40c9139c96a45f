-- guard: the beginning of the scripts that set locks. Until the longest lease has surely ended, a server
-- that may have forgotten a grant must not grant.

-- guard returns what to answer instead of granting, if anything; else when the guard began (ms) and
-- the longest lease it knows of (ms). Both are 0 without a guard.
local function guard(key, longest, nodes, before)
  local since, kept = 0, tonumber(longest)
  if kept > 0 then
    local instead, known, used
    local id
    instead, since, kept, id, known, used = recognise(key, longest)
    if instead then
      return instead
    end
    local left = since + kept - math.floor(now / 1000)
    if left > 0 then
      return {now, 2, left, kept}
    end
    instead = listed(key, nodes, kept, known, used)
    if instead then
      return instead
    end
  end
  if before ~= '0' and now > tonumber(before) then
    return {now, 4}
  end
  return nil, since, kept
end
