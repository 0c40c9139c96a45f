-- guard: the beginning of the scripts that must know whether a server may have forgotten what it granted:
-- one that is new, restarted, flushed or promoted, or whose clock is behind what it wrote.
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

-- recognise writes the guard anew where the server may have forgotten. It returns what to answer
-- instead of anything else, if anything; else when the guard began (ms), the longest lease it knows of
-- (ms), the id it is for, and the number of nodes that was in use, with when (ms).
local function recognise(key, longest)
  local ms, kept = math.floor(now / 1000), tonumber(longest)
  local id = identity()
  local g = redis.call('HMGET', key, 'layout', 'id', 'since', 'longest', 'nodes', 'used')
  if g[1] and g[1] ~= '1' then
    return {now, 5, g[1]}
  end
  local since = tonumber(g[3] or '-1')
  kept = math.max(kept, tonumber(g[4] or '0'))
  if since < 0 or since > ms or (id ~= '' and id ~= g[2]) then
    since = ms
    redis.call('HSET', key, 'layout', '1', 'id', id, 'since', string.format('%d', ms))
  elseif id == '' then
    id = g[2]
  end
  if not g[4] or kept > tonumber(g[4]) then
    redis.call('HSET', key, 'longest', string.format('%d', kept))
  end
  return nil, since, kept, id, g[5], g[6]
end

-- listed notes that lists of so many nodes are in use, and returns what to answer instead, if others are:
-- quorums of lists of different lengths need not meet. An eighth is for how seldom it is noted.
local function listed(key, nodes, kept, known, used)
  local ms = math.floor(now / 1000)
  if known and known ~= nodes and tonumber(used or '0') + kept + kept / 8 > ms then
    return {now, 3, tonumber(known)}
  end
  if known ~= nodes or tonumber(used or '0') + kept / 8 <= ms then
    redis.call('HSET', key, 'nodes', nodes, 'used', string.format('%d', ms))
  end
end
