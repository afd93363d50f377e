-- SPDX-License-Identifier: Apache-2.0
--
-- Renews leases: moves the units of calls to the end of their logs, with the present time, whatever any rule says.
-- log.lua describes a log.
--
-- KEYS[i]  the log of one subject; calls in flight never have cells
-- ARGV[i]  stamp of the units (8 bytes, d): what decide.lua returned as "now" for this key, or what this script
--          returned; then the plan as decide.lua reads it, whose cost is how many they are
--
-- Returns for each log the stamp that its units bear from now on (d).

local call, pack, unpack = redis.call, struct.pack, struct.unpack
local KEYS, ARGV = KEYS, ARGV
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
--%constants
local reply, logs, headers, writes, lives = '', {}, {}, {}, {}

--%units

for i = 1, #KEYS do
  local _, units, rules, print = unpack('>BI4BI4', ARGV[i], 9)
  rules = rules / 16
  local keep, horizon = unpack('>I4d', ARGV[i], 25 + 16 * rules + 24)
  local log = opened(KEYS[i], call('GETRANGE', KEYS[i], 0, 2047), 0)
  local low, after, newest, now, stays
  if log then
    low, after, newest = found(log, unpack('>d', ARGV[i]), units)
    -- If Redis' clock was set back, the log's time goes on from its newest unit.
    now = newest and math.max(clock + log.shift, newest)
  end
  -- Without any others the log is a new one, as it is after a refund of all.
  if not (now and now < EXACT) then
    log = { n = 0, gone = 0, size = 0, header = 0, stored = print, keep = 0 }
    low, after, now = 0, 0, clock
  end
  local foreign, longer, grown = log.stored ~= print, false, log.gone > 0 and keep > log.keep
  if not foreign then log.horizon = horizon end
  if horizon < log.horizon and now < log.ends then
    log.keep, longer = math.max(keep, log.keep), true
  else
    log.keep = horizon < log.horizon and keep or math.max(keep, log.keep)
    log.horizon, log.ends = horizon, now + horizon
  end
  local taken, drop = math.min(units, log.keep), 0
  local edge = now - log.horizon + 1
  if log.gone < log.n and stamp(log, log.gone) < edge then
    local from = first(log, log.gone, log.n, edge)
    drop = math.min(from, low) - log.gone + math.max(from, after) - after
  end
  drop = math.max(drop, log.n - log.gone - after + low + taken - log.keep)
  local added = repeated(pack('>d', now), taken)
  local gone, n, behind = without(log, low, after, drop, added, log.wide and not grown or not foreign)
  local wide = log.wide
  if type(behind) == 'string' then wide = longer or foreign and not wide and n > DENSE end
  log.stored, log.kind, log.shift = print, 16 + rules, now - clock
  logs[i], headers[i], writes[i] = log, head(log, n, now, gone, wide and print), behind
  lives[i] = string.format('%.0f', math.ceil(log.horizon / 1000) + 1000)
  reply = reply .. pack('>d', now)
end
for i = 1, #KEYS do
  if type(writes[i]) == 'string' then
    call('SET', KEYS[i], headers[i] .. writes[i], 'PX', lives[i])
  else
    call('SETRANGE', KEYS[i], 0, headers[i])
    write(logs[i], writes[i])
    call('PEXPIRE', KEYS[i], lives[i])
  end
end
return reply
