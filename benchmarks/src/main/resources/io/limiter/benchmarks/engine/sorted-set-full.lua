-- The same by Redis' clock, with all that a verdict contains: whether the call is admitted, and for each rule what remains and when to
-- come back (µs).
-- KEYS[1] the set
-- ARGV[1] a member that no other call has, then for each rule its count and its window in ms
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local admitted, longest = 1, 0
local verdict = {1}
for i = 2, #ARGV, 2 do
  local count, window = tonumber(ARGV[i]), ARGV[i + 1] * 1000
  local used = redis.call('ZCOUNT', KEYS[1], '(' .. string.format('%.0f', now - window), '+inf')
  local wait = 0
  if used >= count then
    admitted = 0
    local first = redis.call('ZRANGE', KEYS[1], -count, -count, 'WITHSCORES')
    wait = first[2] + window - now
  end
  verdict[#verdict + 1] = math.max(0, count - used - 1)
  verdict[#verdict + 1] = wait
  longest = math.max(longest, window)
end
verdict[1] = admitted
if admitted == 1 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - longest))
  redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], longest / 1000)
end
return verdict
