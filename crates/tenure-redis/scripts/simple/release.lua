-- release: a claim leaves a simple lock.
-- keys, args: as reentrant/release.lua
-- reply: 1 if released; 0 if the claim does not hold; 3 if it stays taken for as long as was asked; tell.lua and note.lua
--        follow
-- after: `line`, as reentrant/release.lua
local reply, line
local value, mine = redis.pcall('GETRANGE', KEYS[1], 0, 255), ARGV[1] .. ' '
if type(value) == 'table' then
  -- what was given up is noted also if the key is in use for something else by now
  reply = value
elseif string.sub(value, 1, #mine) ~= mine then
  reply = 0
elseif ARGV[3] ~= '' then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  reply = 3
else
  redis.call('DEL', KEYS[1])
  reply, line = 1, string.sub(value, -5) == ' line'
end
