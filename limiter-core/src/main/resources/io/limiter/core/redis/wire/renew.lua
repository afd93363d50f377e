-- SPDX-License-Identifier: Apache-2.0
--
-- Renews concurrency permits: moves the units of calls to the end of their logs, with the present time. No rule is
-- evaluated. decide.lua describes a value.
--
-- KEYS[i]       the value of one subject; calls in flight never have cells
-- ARGV[2i - 1]  time of the units (d): the time that decide.lua reported for this key, or that this script returned;
--               two numbers that are not read (d, d); then the plan. Its cost is the number of units
-- ARGV[2i]      time to live of the key in ms, as text
--
-- Returns for each value the new time of its units (d).
--
-- Defined by the included parts:
-- luacheck: read globals EXACT PLAN_HEADER openLog firstSince findUnits withoutUnits writeInPlace

local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
local KEYS, ARGV = KEYS, ARGV
local redisTime = call('TIME')
local clock = redisTime[1] * 1000000 + redisTime[2]
--%constants
--%units.repeat
--%units.edit
local reply, heads, bodies = '', {}, {}

for i = 1, #KEYS do
  local plan = sub(ARGV[2 * i - 1], 25)
  local _, units, partCounts, _, headLength, memory = unpack('>BI4BBI2d', plan)
  local logRules = partCounts / 16
  local most = unpack('>I4', plan, PLAN_HEADER + 1 + 16 * logRules)
  local log = openLog(KEYS[i], call('GETRANGE', KEYS[i], '0', '1023'), plan)
  local low, after, firstUnit = 0, 0, 0
  if log then
    low, after = findUnits(log, (unpack('>d', ARGV[2 * i - 1])), units)
    -- If Redis' clock was set back, the time of the value continues from its last write.
    log.time = math.max(clock + log.shift, log.time)
  end
  -- A log without other units is written as a new one, as after a refund of all units.
  if log and log.time < EXACT and log.firstUnit + after - low < log.unitCount then
    local window = unpack('>d', plan, PLAN_HEADER + 9) -- the longest
    firstUnit = firstSince(log, log.firstUnit, log.unitCount, log.time - window + 1)
    most = math.max(most, log.unitCount - firstUnit)
  else
    log = { key = KEYS[i], page = '', pageOffset = 0, head = sub(plan, -headLength), headLength = headLength,
      rules = logRules, size = 0, hasSpare = false, time = clock, shift = 0, newest = 0, unitCount = 0, firstUnit = 0 }
    low, after = 0, 0
  end
  local newest, logHead, body = withoutUnits(log, low, after, firstUnit, math.min(units, most), most)
  heads[i] = pack('>dddd', log.time, newest, log.time - clock, clock + memory + math.floor(memory / 16)) .. logHead
  bodies[i] = body
  reply = reply .. pack('>d', log.time)
end
for i = 1, #KEYS do
  if type(bodies[i]) == 'string' then
    call('SET', KEYS[i], heads[i] .. bodies[i], 'PX', ARGV[2 * i])
  else
    call('SETRANGE', KEYS[i], 0, heads[i])
    writeInPlace(KEYS[i], bodies[i])
    call('PEXPIRE', KEYS[i], ARGV[2 * i])
  end
end
return reply
