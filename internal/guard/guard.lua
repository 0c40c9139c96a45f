-- guard: check whether this server may have lost what it granted. It is included in the scripts that need it, inline because
-- a function costs each call of a script a microsecond.
-- needs     now        the server's clock (µs)
--           hash       the key of the prefix
--           guard      its field g, false if there is none
--           list       longest lease of the caller (12 digits, ms) and nodes in its list (3 digits); '' for no guard
--           anonymous  whether to accept a server that hides its identity
--           update     whether to update the guard's fields even if that could wait
--           readonly   whether to leave the guard as it is: only a script that takes locks may start or lengthen one
-- declares  (and updates guard)
--           refusal nil, or the item of a reply that says why nothing may be granted; reason is its text, if it has one
--           since   when this guard started (µs, 16 digits)
--           kept    the longest lease known (ms)
-- The guard is LAYOUT IDENTITY SINCE UNTIL LONGEST NODES USED, each of a fixed width: the server's identity (40), when the
-- guard started and when it ends (µs, 16), the longest lease known (ms, 12), the length of the list of nodes (3), and when
-- that list was last used (ms, 13).
local refusal, reason, since, kept = nil, nil, '0000000000000000', 0
if list ~= '' then
  -- A master gets a new replication id at every start and every promotion; ids are never reused.
  local info = redis.pcall('INFO', 'replication')
  local id = guard and string.sub(guard, 3, 42)
  local known = id and type(info) == 'string' and string.find(info, 'master_replid:' .. id, 1, true)
  if not known then
    local me
    if type(info) == 'string' then
      local _, at = string.find(info, 'master_replid:', 1, true)
      if not at then
        info = redis.pcall('INFO', 'server')
        _, at = string.find(type(info) == 'string' and info or '', 'run_id:', 1, true)
      end
      me = at and string.sub(info, at + 1, at + 40)
    end
    if not me and not anonymous then
      refusal = 'b'
    else
      known, id = id and (not me or me == id), me or id or string.rep('-', 40)
    end
  end
  local over = known and tonumber(string.sub(guard, 61, 76))
  kept = tonumber(string.sub(list, 1, 12))
  if guard and (#guard ~= 107 or string.sub(guard, 1, 2) ~= '2 ') then
    refusal, reason = 'e', 'the hash has layout ' .. string.match(guard, '^[^ ]*') .. ', this version knows 2'
  elseif not refusal then
    since = known and string.sub(guard, 44, 59)
    if not known or tonumber(since) > now or string.sub(guard, 78, 93) ~= list or update then
      local nodes, ms = string.sub(list, 14, 16), math.floor(now / 1000)
      -- An absurdly long lease is ignored: one wrong number must not guard a node for years.
      local longest, other, used = string.match(guard or '', '(%d+) (%d+) (%d+)$')
      kept = math.max(kept, math.min(tonumber(longest or '0'), math.max(86400000, 100 * kept)))
      if not known or tonumber(since) > now then
        since = string.format('%016d', now)
      elseif other ~= nodes and tonumber(used) + kept + kept / 8 > ms then
        refusal, nodes, ms = 'l' .. tonumber(other), other, tonumber(used)
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
