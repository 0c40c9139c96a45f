-- guard: check whether this server may have lost what it granted. It is included in the scripts that need it, inline because
-- a function costs each call of a script a microsecond.
-- needs     now        the server's clock (µs)
--           hash       the key of the prefix
--           guard      its field g, false if there is none
--           list       longest lease of the caller (12 digits, ms) and nodes in its list (3 digits); '' for no guard
--           anonymous  whether to accept a server that hides its identity
--           identity   declared; see identity
--           readonly   whether to leave the guard as it is: only a script that takes locks may start or lengthen one
-- declares  (and updates guard and identity)
--           refusal nil, or the item of a reply that says why nothing may be granted; reason is its text, if it has one
--           since   when this guard started (µs, 16 digits)
--           kept    the longest lease known (ms)
-- The guard is LAYOUT IDENTITY SINCE UNTIL LONGEST NODES USED, each of a fixed width: the server's identity (40), when the
-- guard started and when it ends (µs, 16), the longest lease known (ms, 12), the length of the list of nodes (3), and when
-- that list was last used (ms, 13), which is brought up to date if it is a second old.
-- include identity
local refusal, reason, since, kept = nil, nil, '0000000000000000', 0
if list ~= '' then
  local known = guard and (not identity or identity == string.sub(guard, 3, 42))
  kept = tonumber(string.sub(list, 1, 12))
  if guard and (#guard ~= 107 or string.sub(guard, 1, 2) ~= '2 ') then
    refusal, reason = 'e', 'the hash has layout ' .. string.match(guard, '^[^ ]*') .. ', this version knows 2'
  elseif not identity and not anonymous then
    refusal = 'b'
  else
    local over = known and tonumber(string.sub(guard, 61, 76))
    since = known and string.sub(guard, 44, 59)
    local unused = known and now - string.sub(guard, 95, 107) * 1000 -- for how many µs
    if not known or tonumber(since) > now or string.sub(guard, 78, 93) ~= list or unused >= 1000000 or unused < 0 then
      local id = identity or known and string.sub(guard, 3, 42) or string.rep('-', 40)
      local nodes, ms = string.sub(list, 14, 16), math.floor(now / 1000)
      -- An absurdly long lease is ignored: one wrong number must not guard a node for years.
      local longest, other, used = string.match(guard or '', '(%d+) (%d+) (%d+)$')
      kept = math.max(kept, math.min(tonumber(longest or '0'), math.max(86400000, 100 * kept)))
      if not known or tonumber(since) > now then
        since = string.format('%016d', now)
      elseif other ~= nodes and tonumber(used) + kept + 1000 > ms then
        refusal, nodes, ms = 'l' .. tonumber(other), other, math.min(tonumber(used), ms) -- the clock may have been set back
      end
      over = tonumber(since) + kept * 1000
      guard = string.format('2 %s %s %016d %012d %s %013d', id, since, over, kept, nodes, ms)
      if not readonly then
        redis.call('HSET', hash, 'g', guard)
      end
    end
    if now < over then
      refusal = string.format('g%d/%d', math.ceil((over - now) / 1000), kept)
    end
  end
end
