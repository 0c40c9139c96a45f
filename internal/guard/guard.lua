-- guard: the beginning of the scripts that set keys. Until the longest lease has surely ended, a
-- server that may have forgotten a grant must not grant: one that is new, restarted, flushed or
-- promoted, or whose clock is behind what it wrote.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]

-- identity changes with every restart and every promotion; empty where INFO is not permitted
local function identity()
  local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(server) ~= 'string' or type(replication) ~= 'string' then
    return ''
  end
  local _, run = string.find(server, 'run_id:', 1, true)
  local _, history = string.find(replication, 'master_replid:', 1, true)
  return (run and string.sub(server, run + 1, run + 40) or '') ..
    (history and string.sub(replication, history + 1, history + 40) or '')
end

-- guard returns what to answer instead of granting, if anything; else when the guard began (ms) and
-- the longest lease it knows of (ms). Both are 0 without a guard.
local function guard(key, longest, nodes, before)
  local since, kept = 0, tonumber(longest)
  if kept > 0 then
    local ms = math.floor(now / 1000)
    local id = identity()
    local g = redis.call('HMGET', key, 'layout', 'id', 'since', 'longest', 'nodes', 'used')
    if g[1] and g[1] ~= '1' then
      return {now, 5, g[1]}
    end
    since, kept = tonumber(g[3] or '-1'), math.max(kept, tonumber(g[4] or '0'))
    if since < 0 or since > ms or (id ~= '' and id ~= g[2]) then
      since = ms
      redis.call('HSET', key, 'layout', '1', 'id', id, 'since', string.format('%d', ms))
    end
    if not g[4] or kept > tonumber(g[4]) then
      redis.call('HSET', key, 'longest', string.format('%d', kept))
    end
    if since + kept > ms then
      return {now, 2, since + kept - ms, kept}
    end
    -- Quorums of lists of different lengths need not meet. An eighth is for how seldom it is noted.
    local fresh = g[6] and tonumber(g[6]) + kept / 8 > ms
    if g[5] and g[5] ~= nodes and tonumber(g[6]) + kept + kept / 8 > ms then
      return {now, 3, tonumber(g[5])}
    end
    if g[5] ~= nodes or not fresh then
      redis.call('HSET', key, 'nodes', nodes, 'used', string.format('%d', ms))
    end
  end
  if before ~= '0' and now > tonumber(before) then
    return {now, 4}
  end
  return nil, since, kept
end

