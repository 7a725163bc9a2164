-- reenter: a claim that holds goes in once more.
-- keys: 1 the lock, 2 the entry's tombstone
-- args: as count.lua
-- reply: -1 if the entry was cancelled; otherwise as count.lua, which follows
if redis.call('EXISTS', KEYS[2]) == 1 then
  return -1
end
