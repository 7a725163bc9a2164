-- forced: tells some of those whom force has put out of a lock, so many that nobody has to wait for long.
-- keys: 1 where they are kept
-- args: 1 what a client's own channel begins with, 2 where to go on, 3 what readers' keys begin with, or ''
-- reply: where to go on; '0' when all have been told
-- before: put_out.lua
local found = redis.call('HSCAN', KEYS[1], ARGV[2], 'COUNT', 100)
local fields, told = found[2], {}
if #fields > 2000 then
  -- a hash that comes as a whole: those who are told now go from it, and the rest comes the next time
  for i = #fields, 2001, -1 do
    fields[i] = nil
  end
  for i = 1, 2000, 2 do
    told[#told + 1] = fields[i]
  end
  redis.call('HDEL', KEYS[1], unpack(told))
  found[1] = '1'
end
put_out(ARGV[1], ARGV[3] ~= '' and ARGV[3] or nil, fields)
if found[1] == '0' then
  redis.call('UNLINK', KEYS[1])
end
return found[1]
