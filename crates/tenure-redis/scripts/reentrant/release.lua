-- release: a claim leaves for good.
-- keys: 1 the lock, 2 its channel, 3 the line of clients that wait, 4 (if an entry is cancelled) what of its client's is over
-- args: 1 claim, 2 what a client's own channel begins with, 3 how long the lock stays taken all the same, in ms, or '',
--       4 and 5 (if an entry is cancelled) how long to remember that, in ms, and what is over now
-- reply: 1 if released; 0 if the claim does not hold; 3 if it stays taken for as long as was asked; otherwise as
--        rest.lua, which follows for a lock with claims under its holder's; tell.lua and note.lua come last
-- after: `line`, whether clients may stand in line
local reply, line
-- the rest of it only if it is a lock
local held = redis.pcall('HEXISTS', KEYS[1], ARGV[1])
local marks = held == 1 and redis.call('HMGET', KEYS[1], 'line', 'nested')
if held ~= 1 then
  -- what was given up is noted also if the key is in use for something else by now
  reply = held
elseif not marks[2] then
  if ARGV[3] ~= '' then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    -- the lock lasts for less than it seemed to: a Java service would wait for as long as it had seen
    redis.pcall('PUBLISH', KEYS[2], '0')
    reply = 3
  else
    redis.call('DEL', KEYS[1])
    reply, line = 1, marks[1]
  end
end
