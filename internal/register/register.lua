-- register: how the scripts of this package begin
-- A job has two keys at each node: a hash of what is known of it, and a hash of the records of runs that have an
-- end, by slot. A slot is lane and tick; the lane is t for ticks (ms since 1970) and m for what was asked for by
-- hand (µs). A record is layout:run:attempt:token:state:text; while its state is claimed it stands in the first
-- hash, where a new leader finds it without reading the others: as o: and slot, the node has voted for it, as x: and
-- slot, it was told of it when it was admitted.
local fade = '34560000000' -- 400 days, in ms: nothing rests on it
local ahead = 2000000      -- µs: no vote is for a tick further ahead of the node's clock

-- newer compares two version:by:value of what a person has set; the older of equals stands
local function newer(a, b)
  local va, ia = string.match(a or '', '^(%d+):([^:]*):')
  local vb, ib = string.match(b or '', '^(%d+):([^:]*):')
  va, vb = tonumber(va or '0'), tonumber(vb or '0')
  return va > vb or (va == vb and (ia or '') > (ib or ''))
end

-- parts of a record; nil where there is none
local function parts(record)
  local layout, run, attempt, token, state = string.match(record or '', '^(%d+):([^:]*):(%d+):(%d+):([^:]*):')
  return run, tonumber(attempt), tonumber(token), state, layout
end

local cap = 50 -- records that are kept of a job

local function trim(runs)
  if redis.call('HLEN', runs) <= cap + 10 then
    return
  end
  local fields, at, sorted = redis.call('HKEYS', runs), {}, {}
  for i, field in ipairs(fields) do
    local n = tonumber(string.sub(field, 2))
    at[i] = string.sub(field, 1, 1) == 'm' and n / 1000 or n
    sorted[i] = at[i]
  end
  table.sort(sorted)
  local oldest, old = sorted[#sorted - cap], {}
  for i, field in ipairs(fields) do
    if at[i] <= oldest then
      old[#old + 1] = field
    end
  end
  redis.call('HDEL', runs, unpack(old))
end

-- put has a record of that state stand where it belongs
local function put(job, runs, slot, record, state)
  if state == 'claimed' then
    redis.call('HSET', job, 'o:' .. slot, record)
    return
  end
  redis.call('HDEL', job, 'o:' .. slot, 'x:' .. slot)
  redis.call('HSET', runs, slot, record)
  redis.call('PEXPIRE', runs, fade)
  trim(runs)
end
