-- release: a claim leaves a simple lock; the client that has waited longest is called, and everyone who waits is told.
-- keys, args: as reentrant/release.lua
-- reply: 1 if released; 0 if the claim does not hold; 3 if it stays taken for as long as was asked; note.lua follows
local reply
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
  -- the lock is free by now, and an error would say that it is not: whoever cannot be told looks by itself
  if string.sub(value, -5) == ' line' then
    local first = redis.pcall('ZPOPMIN', KEYS[3])
    if first[1] then
      redis.pcall('PUBLISH', ARGV[2] .. first[1], 'turn ' .. KEYS[1])
    end
  end
  redis.pcall('PUBLISH', KEYS[2], '0')
  reply = 1
end
