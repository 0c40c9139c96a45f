-- identity: without a guard, what the hash says of the server may be of another one: who it is is asked all the same, so
-- that two addresses that lead to it have one vote.
-- needs     list, guard; changes guard
if list == '' then
  local info = redis.pcall('INFO', 'replication')
  local me = type(info) == 'string' and string.match(info, 'master_replid:(%x+)')
  guard = me and '2 ' .. me
end
