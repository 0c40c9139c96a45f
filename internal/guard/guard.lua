-- guard: check whether this server may have lost what it granted, and whether the caller has the list in which it is joined. It is
-- included in the scripts that need it, inline because a function costs each call of a script a microsecond.
-- needs     now        the server's clock (µs)
--           hash       the key of the prefix
--           guard      its field g, false if there is none
--           list       longest lease of the caller (12 digits, ms) and label of its list (16 digits); '' for no guard
--           anonymous  whether to accept a server that hides its identity
--           identity   declared; see identity
--           readonly   whether to leave the guard as it is: only a script that takes locks may restart or lengthen one
-- declares  (and updates guard and identity)
--           refusal nil, or the item of a reply that says why nothing may be granted; reason is its text, if it has one
--           since   when this guard started (µs, 16 digits)
--           kept    the longest lease known (ms)
-- The guard is LAYOUT IDENTITY SINCE UNTIL LONGEST LABEL USED, each of a fixed width: the server's identity (40), when the
-- guard started and when it ends (µs, 16), the longest lease known (ms, 12), the label of the list that it serves (16), and when
-- that list was last used (ms, 13), which is brought up to date if it is a second old. Internal package lists documents the label
-- and starts the first guard.
-- include identity
local refusal, reason, since, kept = nil, nil, '0000000000000000', 0
if list ~= '' then
  local known = guard and (not identity or identity == string.sub(guard, 3, 42))
  local same = guard and string.sub(guard, 78, 106) == list
  kept = tonumber(string.sub(list, 1, 12))
  if guard and (#guard ~= 120 or string.sub(guard, 1, 2) ~= '3 ') then
    refusal, reason = 'e', 'the hash has layout ' .. string.match(guard, '^[^ ]*') .. ', this version knows 3'
  elseif not identity and not anonymous then
    refusal = 'b'
  elseif not same and (not guard or string.sub(guard, 91, 106) ~= string.sub(list, 14, 29)) then
    local joined = guard and string.match(redis.call('HGET', hash, 's') or '', '^%S+ (%x+:%d+:%S+)')
    refusal = 'l' .. (joined and select(2, string.gsub(joined, ',', '')) + 1 or 0)
  else
    local over = known and tonumber(string.sub(guard, 61, 76))
    since = known and string.sub(guard, 44, 59)
    local unused = known and now - string.sub(guard, 108, 120) * 1000 -- for how many µs
    if not known or tonumber(since) > now or not same or unused >= 1000000 or unused < 0 then
      local id = identity or string.sub(guard, 3, 42)
      -- An absurdly long lease is ignored: one wrong number must not guard a node for years.
      kept = math.max(kept, math.min(tonumber(string.sub(guard, 78, 89)), math.max(86400000, 100 * kept)))
      if not known or tonumber(since) > now then
        since = string.format('%016d', now)
      end
      over = tonumber(since) + kept * 1000
      guard = string.format('3 %s %s %016d %012d %s %013d', id, since, over, kept, string.sub(list, 14), math.floor(now / 1000))
      if not readonly then
        redis.call('HSET', hash, 'g', guard)
      end
    end
    if now < over then
      refusal = string.format('g%d/%d', math.ceil((over - now) / 1000), kept)
    end
  end
end
