-- forced: tells some of those whom force has put out of a lock, so many that nobody has to wait for long.
-- keys: 1 where they are kept
-- args: 1 what a client's own channel begins with, 2 where to go on, 3 what readers' keys begin with, or ''
-- reply: where to go on; '0' when all have been told
-- before: put_out.lua
local found = redis.call('HSCAN', KEYS[1], ARGV[2], 'COUNT', 100)
put_out(ARGV[1], ARGV[3] ~= '' and ARGV[3] or nil, found[2])
if found[1] == '0' then
  redis.call('UNLINK', KEYS[1])
end
return found[1]
