-- memory: how the scripts of this package begin that must know whether the server has lost its state
-- KEYS     hash of the prefix, then those of the script
-- ARGV     list, as guard has it; flags: b accepts a server whose identity cannot be seen, s writes no guard; then those of
--          the script
local t = redis.call('TIME')
local now, hash, list = t[1] * 1000000 + t[2], KEYS[1], ARGV[1]
local look, blind, silent = true, string.find(ARGV[2], 'b', 1, true), string.find(ARGV[2], 's', 1, true)
local guard = redis.call('HGET', hash, 'g')
-- include guard


-- memory names what the server remembers: a job known under another name may have forgotten votes.
-- It returns what to answer instead, if anything; else that name and how long (ms) the guard lasts.
local function memory()
  if list == '' then
    return nil, '0', 0
  end
  local code = refusal and string.sub(refusal, 1, 1)
  if code == 'e' then
    return {now, 5, reason}
  elseif code == 'l' then
    return {now, 3, tonumber(string.sub(refusal, 2))}
  elseif code == 'b' then
    return {now, 10, 'scripts may not call INFO: a restart of the server could not be seen'}
  end
  local left = code == 'g' and string.match(refusal, '^g(%d+)') or '0'
  return nil, string.sub(guard, 44, 59) .. '.' .. string.sub(guard, 3, 42), tonumber(left)
end

