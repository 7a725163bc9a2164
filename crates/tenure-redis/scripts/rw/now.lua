-- now: who of a read-write lock is still in: of those whose leases have ended, some may still stand among the others.
-- after: `time`, and `now`, the server's time in µs
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- how many of a set have not ended yet
local function alive(ended_by)
  return redis.call('ZCOUNT', ended_by, '(' .. string.format('%d', now), '+inf')
end

-- when the lease of a claim ends, if it has not yet
local function lease_end(side, claim)
  local ends = redis.call('ZSCORE', side, claim)
  return ends and tonumber(ends) > now and tonumber(ends)
end
