-- release: a claim leaves a fair lock, or the line, for good; line.lua and leave.lua follow, then reentrant/release.lua or
--          nested/release.lua.
-- keys: 1 the lock, 2 its channel, from 3 on those of the line, as its line.lua has them, then (if an entry is cancelled)
--       what of its client's is over
-- args: as reentrant/release.lua
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local own, notice = 3, ARGV[2]
