-- number: what is counted under a key.
-- keys: 1 the count
-- before: `no_lock`, what is made of an error; `least` and `most`, between which the count must be
-- after: `now`, the server's time in µs; `count`, none if there is nothing under the key
-- reply: an error if there is something else, of which nothing was changed
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local count = redis.pcall('GETRANGE', KEYS[1], 0, 11)
if type(count) == 'table' then
  return no_lock(count)
end
if count == '' and redis.call('EXISTS', KEYS[1]) == 0 then
  count = nil
else
  -- written as the server itself writes numbers, or it would not count on from it
  count = (count == '0' or string.find(count, '^%-?[1-9]%d*$')) and tonumber(count)
  if not count or count < least or count > most then
    return no_lock(redis.error_reply('NOTALOCK the key holds a string that is no count of this kind'))
  end
end
