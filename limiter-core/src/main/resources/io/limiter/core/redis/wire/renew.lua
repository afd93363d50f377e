-- SPDX-License-Identifier: Apache-2.0
--
-- Renews concurrency permits: moves the units of calls to the end of their logs, with the present time. No rule is
-- evaluated. log.lua describes a log.
--
-- KEYS[i]  the log of one subject; calls in flight never have cells
-- ARGV[i]  time of the units (d): the time that decide.lua reported for this key, or that this script returned; then
--          the plan as for decide.lua. Its cost is the number of units
--
-- Returns for each log the new time of its units (d).
--
-- Defined by the included parts:
-- luacheck: read globals EXACT EXACT_SIZE_UNITS PLAIN_HEADER FIRST_READ
-- luacheck: read globals repeatBytes unitTime firstSince openLog findUnits withoutUnits writeInPlace newHeader

local call, pack, unpack = redis.call, struct.pack, struct.unpack
local KEYS, ARGV = KEYS, ARGV
local redisTime = call('TIME')
local clock = redisTime[1] * 1000000 + redisTime[2]
--%constants
local reply, logs, headers, bodies, ttls = '', {}, {}, {}, {}

--%edit-log

for i = 1, #KEYS do
  local _, units, logRules, fingerprint = unpack('>BI4BI4', ARGV[i], 9)
  logRules = logRules / 16
  local ownMaxUnits, ownHorizon = unpack('>I4d', ARGV[i], 25 + 16 * logRules + 24)
  local log = openLog(KEYS[i], call('GETRANGE', KEYS[i], 0, FIRST_READ - 1), 0)
  local low, after, newest, now
  if log then
    low, after, newest = findUnits(log, unpack('>d', ARGV[i]), units)
    -- If Redis' clock was set back, the time of the log continues from its newest unit.
    now = newest and math.max(clock + log.shift, newest)
  end
  -- A log without other units is written as a new one, as after a refund of all units.
  if not (now and now < EXACT) then
    log = { unitCount = 0, firstUnit = 0, size = 0, unitsOffset = 0, writer = fingerprint, maxUnits = 0 }
    low, after, now = 0, 0, clock
  end
  local isForeign, horizonHolds = log.writer ~= fingerprint, false
  local keepsMore = log.firstUnit > 0 and ownMaxUnits > log.maxUnits
  if not isForeign then log.horizon = ownHorizon end
  if ownHorizon < log.horizon and now < log.horizonEnd then
    log.maxUnits, horizonHolds = math.max(ownMaxUnits, log.maxUnits), true
  else
    log.maxUnits = ownHorizon < log.horizon and ownMaxUnits or math.max(ownMaxUnits, log.maxUnits)
    log.horizon, log.horizonEnd = ownHorizon, now + ownHorizon
  end
  local added, dropped = math.min(units, log.maxUnits), 0
  local horizonStart = now - log.horizon + 1
  if log.firstUnit < log.unitCount and unitTime(log, log.firstUnit) < horizonStart then
    local from = firstSince(log, log.firstUnit, log.unitCount, horizonStart)
    dropped = math.min(from, low) - log.firstUnit + math.max(from, after) - after
  end
  dropped = math.max(dropped, log.unitCount - log.firstUnit - after + low + added - log.maxUnits)
  local addedBytes = repeatBytes(pack('>d', now), added)
  local mayStay = log.cursorOwner and not keepsMore or not isForeign
  local firstUnit, unitCount, body = withoutUnits(log, low, after, dropped, addedBytes, mayStay)
  local isShared = log.cursorOwner
  if type(body) == 'string' then
    isShared = horizonHolds or isForeign and not isShared and unitCount > EXACT_SIZE_UNITS
  end
  log.writer, log.headerKind, log.shift = fingerprint, PLAIN_HEADER + logRules, now - clock
  logs[i], headers[i], bodies[i] = log, newHeader(log, unitCount, now, firstUnit, isShared and fingerprint), body
  ttls[i] = string.format('%.0f', math.ceil(log.horizon * 17 / 16000) + 1000)
  reply = reply .. pack('>d', now)
end
for i = 1, #KEYS do
  if type(bodies[i]) == 'string' then
    call('SET', KEYS[i], headers[i] .. bodies[i], 'PX', ttls[i])
  else
    call('SETRANGE', KEYS[i], 0, headers[i])
    writeInPlace(logs[i], bodies[i])
    call('PEXPIRE', KEYS[i], ttls[i])
  end
end
return reply
