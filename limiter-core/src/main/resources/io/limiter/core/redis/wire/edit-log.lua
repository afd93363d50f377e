-- SPDX-License-Identifier: Apache-2.0
--
-- Functions that remove units from a log and add some, for refund.lua and renew.lua. log.lua describes a log. Of a long
-- log they read only pages. To close the gap of removed units, they move the shorter side.
--
-- luacheck: read globals EXACT MAX_WINDOW LOG_HEADER PLAIN_HEADER SHARED_HEADER EXACT_SIZE_UNITS PAGE FIRST_READ
-- luacheck: read globals call pack unpack
-- Defined by the included part:
-- luacheck: read globals repeatBytes

--%repeat

local function unitTime(log, index)
  local offset = log.unitsOffset + 8 * index - log.pageOffset
  if offset < 0 or offset + 8 > #log.page then
    offset = math.min(8 * index, 256)
    log.pageOffset = log.unitsOffset + 8 * index - offset
    log.page = call('GETRANGE', log.key, log.pageOffset, log.pageOffset + (PAGE / 2 - 1))
  end
  return (unpack('>d', log.page, offset + 1))
end

-- The log behind the cells of a value; nil if there is none.
--   page       the first page of the value
--   logOffset  the length of the cells
local function openLog(key, page, logOffset)
  local size = #page < FIRST_READ and #page or call('STRLEN', key)
  if size < logOffset + LOG_HEADER + 12 then return nil end -- with one cursor and one unit
  local writer, unitCount, newest, shift, maxUnits, horizon, headerKind, firstCursor =
    unpack('>I4I4ddI4dBI4', page, logOffset + 1)
  local unitsOffset, hasSpare = logOffset + LOG_HEADER + 4 * (headerKind - PLAIN_HEADER), unitCount > 0
  if not hasSpare then unitCount = math.floor((size - unitsOffset) / 8) end
  local firstUnit = math.max(writer ~= 0 and firstCursor or 0, unitCount - maxUnits)
  if headerKind <= PLAIN_HEADER or headerKind > SHARED_HEADER or unitsOffset + 8 * unitCount > size
    or firstUnit >= unitCount or not (horizon <= MAX_WINDOW)
  then
    return nil
  end
  -- The index of the oldest unit is firstUnit. If the header is shared, cursorOwner is the fingerprint of the rules
  -- whose cursors it has. The horizon holds until horizonEnd.
  local log = { key = key, page = page, pageOffset = 0, logOffset = logOffset, unitsOffset = unitsOffset, size = size,
    writer = writer, unitCount = unitCount, hasSpare = hasSpare, shift = shift, maxUnits = maxUnits,
    horizon = horizon, headerKind = headerKind, firstUnit = firstUnit }
  if not hasSpare then newest = unitTime(log, unitCount - 1) end
  if not (newest >= 0 and newest < EXACT) then return nil end
  log.horizonEnd = newest + horizon
  if writer == 0 and headerKind == SHARED_HEADER then
    local owner, holdsUntil, oldestUnit = unpack('>I4dI4', page, logOffset + 38)
    if holdsUntil > newest and holdsUntil <= log.horizonEnd and holdsUntil % 1 == 0 and oldestUnit < unitCount then
      log.cursorOwner, log.horizonEnd, log.firstUnit = owner, holdsUntil, math.max(firstUnit, oldestUnit)
    end
  end
  return log
end

-- The first unit from `low` to before `high` that is not older than a time; `high` if there is none.
local function firstSince(log, low, high, time)
  local probe = high - 32 -- mostly it is one of the newest
  while low < high do
    if probe < low then probe = math.floor((low + high) / 2) end
    if unitTime(log, probe) < time then low = probe + 1 else high = probe end
    probe = -1
  end
  return low
end

-- Finds at most `units` units of one time. Returns the index of the first, the index after the last, and the time of
-- the newest unit that is left without them; nil if none is left.
local function findUnits(log, time, units)
  local low = firstSince(log, log.firstUnit, log.unitCount, time)
  local after = low
  if low < log.unitCount and unitTime(log, low) == time then
    after = firstSince(log, low, math.min(log.unitCount, low + units), time + 1)
  end
  if log.firstUnit + after - low >= log.unitCount then return low, after, nil end
  local newest = unitTime(log, after == log.unitCount and low - 1 or log.unitCount - 1)
  log.horizonEnd = math.min(log.horizonEnd, newest + log.horizon)
  return low, after, newest
end

-- Removes the units from `low` to before `after`, drops the oldest ones, as many as `dropped`, and appends `added`, the
-- bytes of new units. `mayStay` allows writing in place. Returns the index of the oldest unit, the number of units from
-- index 0 on, and what to write behind the header: all bytes as a string; or, in place, an array with the bytes to move
-- (from, to, length), then offsets and strings to write.
local function withoutUnits(log, low, after, dropped, added, mayStay)
  local unitCount, firstUnit, removed, addedCount = log.unitCount, log.firstUnit, after - low, #added / 8
  local unitsOffset, room = log.unitsOffset, log.size - log.unitsOffset
  local left = unitCount - firstUnit - removed - dropped + addedCount
  local storesFirst = log.cursorOwner or log.writer ~= 0 -- the header has the index of the oldest unit
  if mayStay and log.hasSpare and left > EXACT_SIZE_UNITS and room <= 16 * left then -- else it would waste memory
    if storesFirst and (removed == 0 or low - firstUnit < unitCount - after)
      and 8 * (unitCount + addedCount) <= room
    then
      -- The older units move up. In their place are left zeros, which no release counts as units.
      return firstUnit + removed + dropped, unitCount + addedCount, {
        unitsOffset + 8 * firstUnit, unitsOffset + 8 * (firstUnit + removed),
        removed > 0 and 8 * (low - firstUnit) or 0,
        unitsOffset + 8 * firstUnit, repeatBytes('\0', 8 * removed), unitsOffset + 8 * unitCount, added,
      }
    end
    if 8 * (unitCount - removed + addedCount) <= room and (storesFirst or firstUnit + dropped == 0) then
      -- A release that does not support shared headers takes the newest maxUnits units for all that the log has: more
      -- than before, now that there are fewer units.
      local leastCounted = log.cursorOwner and math.max(0, unitCount - removed + addedCount - log.maxUnits) or 0
      local zeros = log.cursorOwner and math.max(0, unitCount - log.maxUnits - leastCounted) or 0
      return firstUnit + dropped, unitCount - removed + addedCount, {
        unitsOffset + 8 * after, unitsOffset + 8 * low, removed > 0 and 8 * (unitCount - after) or 0,
        unitsOffset + 8 * (unitCount - removed), added, unitsOffset + 8 * leastCounted, repeatBytes('\0', 8 * zeros),
      }
    end
  end
  local older, newer, from = '', '', firstUnit + dropped
  if from < low then older = call('GETRANGE', log.key, unitsOffset + 8 * from, unitsOffset + 8 * low - 1) end
  from = after + math.max(0, from - low)
  if from < unitCount then
    newer = call('GETRANGE', log.key, unitsOffset + 8 * from, unitsOffset + 8 * unitCount - 1)
  end
  return 0, left, older .. newer .. added
    .. (left > EXACT_SIZE_UNITS and repeatBytes('\0', 8 * math.floor(left / 8)) or '')
end

-- Writes the array that withoutUnits returned. Moves a few bytes at a time: for a long string, Lua would first have to
-- allocate memory.
local function writeInPlace(log, steps)
  local from, to, length = steps[1], steps[2], steps[3]
  for done = 0, length - 1, 8192 do
    local part = math.min(8192, length - done)
    local offset = from < to and length - done - part or done
    call('SETRANGE', log.key, to + offset, call('GETRANGE', log.key, from + offset, from + offset + part - 1))
  end
  for s = 4, #steps, 2 do
    if steps[s + 1] ~= '' then call('SETRANGE', log.key, steps[s], steps[s + 1]) end
  end
end

-- The header of the log, shared if there is a cursorOwner. All cursors start from the oldest unit, because the time of
-- the log may have gone back.
local function newHeader(log, unitCount, newest, firstUnit, cursorOwner)
  return pack('>I4I4ddI4dB', cursorOwner and 0 or log.writer, unitCount > EXACT_SIZE_UNITS and unitCount or 0,
    unitCount > EXACT_SIZE_UNITS and newest or 0, log.shift, log.maxUnits, log.horizon,
    cursorOwner and SHARED_HEADER or log.headerKind)
    .. (cursorOwner and pack('>I4dI4', cursorOwner, log.horizonEnd, firstUnit) or '')
    .. string.rep(pack('>I4', firstUnit), cursorOwner and 4 or log.headerKind - PLAIN_HEADER)
end
