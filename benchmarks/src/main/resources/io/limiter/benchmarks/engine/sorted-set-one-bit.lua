-- What people write by hand: a sorted set for each subject, with a member for each call; says only whether the call is refused.
-- KEYS[1] the set
-- ARGV[1] a member that no other call has, ARGV[2] the caller's clock in ms, then for each rule its count and its window in ms
local now = tonumber(ARGV[2])
local longest = 0
for i = 3, #ARGV, 2 do
  local window = tonumber(ARGV[i + 1])
  if redis.call('ZCOUNT', KEYS[1], now - window, now) >= tonumber(ARGV[i]) then
    return 1
  end
  longest = math.max(longest, window)
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - longest)
redis.call('PEXPIRE', KEYS[1], longest)
return 0
