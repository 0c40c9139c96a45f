-- identity: without a guard, the identity in the hash may be another server's. Ask the server for its own, so that two
-- addresses of one server have one vote.
-- needs     list, guard; changes guard
if list == '' then
  local info = redis.pcall('INFO', 'replication')
  local me = type(info) == 'string' and string.match(info, 'master_replid:(%x+)')
  guard = me and '2 ' .. me
end
