-- identity: ask the server for its identity. What a hash says may be about another server, from which its data came, or
-- about an earlier run of this one: if a reply named that, one server could have two votes.
-- sets      identity, which the script declares; nil if the server hides it
do
  -- A master gets a new replication id at every start and every promotion; ids are never reused.
  local info = redis.pcall('INFO', 'replication')
  local _, at = string.find(type(info) == 'string' and info or '', 'master_replid:', 1, true)
  if not at then
    info = redis.pcall('INFO', 'server')
    _, at = string.find(type(info) == 'string' and info or '', 'run_id:', 1, true)
  end
  identity = at and string.sub(info, at + 1, at + 40)
end
