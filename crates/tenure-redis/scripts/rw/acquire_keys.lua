-- acquire: lets a claim in to read or to write, or gives it a place in line. Asked again, says the same.
-- keys: 1 the lock, 2 the store's watermark, 3 what of its client's is over, 4 its channel, from 5 on as look.lua and
--       shares.lua name them
-- args: 1 claim, 2 lease in ms, 3 'read' or 'write', 4 for how long a place is kept, in ms, or '' for none, 5 the claims it
--       stands under, one after the other with a '/' between them, 6 what a client's own channel begins with
-- reply: {token as text, count} if the claim is in; 0 if it was cancelled; {claim} if that waits for the asker to leave;
--        otherwise {µs until all leases have ended, server time in µs as text, {field, value, …} of who is in the way, until
--        when it is as text, how many stand before the asker or -1, µs for which the place of the first is kept}
if not redis.REDIS_VERSION_NUM then
  return redis.error_reply('TOOOLD this server is older than Redis 7.0')
end
if redis.call('EXISTS', KEYS[3]) == 1 and given_up(KEYS[3], ARGV[1], 0) then
  return 0
end
-- the key is in use for something else
local function no_lock(said)
  return said
end
local keys = {
  lock = KEYS[1], reading = KEYS[5], writing = KEYS[6], writers = KEYS[7], readers = KEYS[8], places = KEYS[9],
  pass = KEYS[10], shares = KEYS[11], prefix = KEYS[12]
}
