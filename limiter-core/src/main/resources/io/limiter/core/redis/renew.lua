-- SPDX-License-Identifier: Apache-2.0
--
-- Renews leases: takes units out of their logs and takes them anew, now, whatever any rule says. log.lua describes a
-- log.
--
-- KEYS[i]  the log of one subject; calls in flight never have cells
-- ARGV[i]  stamp of the units (8 bytes, d): what decide.lua returned as "now" for this key, or what this script
--          returned; then the plan as decide.lua reads it, whose cost is how many they are
--
-- Returns for each log the stamp that its units bear from now on (d).

local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
local KEYS, ARGV = KEYS, ARGV
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local DENSE = 118
local EXACT = 9007199254740992
local LONGEST = 31622400000000
local reply, values, lives = '', {}, {}

-- The first unit from k on, of those before n, that is not older than a time.
local function first(log, header, k, n, edge)
  while k < n do
    local middle = math.floor((k + n) / 2)
    if unpack('>d', log, header + 8 * middle + 1) < edge then k = middle + 1 else n = middle end
  end
  return k
end

for i = 1, #KEYS do
  local log, stamp = call('GET', KEYS[i]), unpack('>d', ARGV[i])
  local _, units, rules, print = unpack('>BI4BI4', ARGV[i], 9)
  rules = rules / 16
  local keep, horizon = unpack('>I4d', ARGV[i], 25 + 16 * rules + 24)
  local now, shift, others = clock, 0, ''
  local written = log and #log >= 49 and unpack('>B', log, 37) - 16 or 0
  if written >= 1 and written <= 8 then
    local header = 37 + 4 * written
    local stored, n, _, known, kept, outlived = unpack('>I4I4ddI4d', log)
    if n == 0 then n = math.floor((#log - header) / 8) end
    -- Units that the log has no more, though a roomy one still holds them.
    local gone = math.max(stored ~= 0 and unpack('>I4', log, 38) or 0, n - kept)
    if header + 8 * n <= #log and outlived <= LONGEST and gone < n then
      local low = first(log, header, gone, n, stamp)
      local after = low
      while after < n and after - low < units and unpack('>d', log, header + 8 * after + 1) == stamp do
        after = after + 1
      end
      local newest = gone + after - low < n and unpack('>d', log, header + 8 * (after == n and low or n) - 7)
      -- Without any others the log begins anew, as it does after a refund of all.
      if newest and math.max(clock + known, newest) < EXACT then
        now = math.max(clock + known, newest) -- if Redis' clock was set back, the log's time goes on from its newest unit
        shift, print = now - clock, stored == print and print or 0
        keep, horizon = math.max(keep, kept), math.max(horizon, outlived)
        local from = first(log, header, gone, n, now - horizon + 1)
        others = sub(log, header + 8 * from + 1, header + 8 * low)
          .. sub(log, header + 8 * math.max(from, after) + 1, header + 8 * n)
      end
    end
  end
  local taken = math.min(units, keep)
  local live = math.min(#others / 8 + taken, keep)
  local stamps = sub(others .. string.rep(pack('>d', now), taken), -8 * live)
  -- The cursors begin anew: the log's time may have gone back.
  values[i] = pack('>I4I4ddI4dB', print, live > DENSE and live or 0, now, shift, keep, horizon, 16 + rules)
    .. string.rep('\0', 4 * rules) .. stamps .. (live > DENSE and string.rep('\0', 8 * math.floor(live / 8)) or '')
  lives[i] = string.format('%.0f', math.ceil(horizon / 1000) + 1000)
  reply = reply .. pack('>d', now)
end
for i = 1, #KEYS do
  call('SET', KEYS[i], values[i], 'PX', lives[i])
end
return reply
