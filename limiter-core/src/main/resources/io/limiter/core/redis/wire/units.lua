-- SPDX-License-Identifier: Apache-2.0
--
-- Functions on the units of a log, which other files include by sections. decide.lua describes a value.
--
-- luacheck: read globals EXACT LOG_HEAD EXACT_SIZE_UNITS LONGEST_LEASE PAGE call pack unpack sub
-- Of a key whose log is read: the first page of the value is `page`.
-- luacheck: read globals page key headLength unitCount
-- luacheck: globals unitTime advanceCursor corruptKey
-- luacheck: ignore 211

--%begin repeat
-- Repeats a text. string.rep of Lua 5.1 appends one at a time: 10,000 times would take half a millisecond.
local function repeatBytes(text, times)
  if times < 128 then return string.rep(text, times) end
  local block = string.rep(text, 64)
  local part = string.rep(block, math.floor(times / 1024)) -- a sixteenth
  return part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part
    .. part .. part .. string.rep(block, math.floor(times / 64) % 16) .. string.rep(text, times % 64)
end
--%end repeat

--%begin readers
-- Defines two functions, where the first page of a log does not suffice. They read half a page around a unit, so that
-- the last steps of a search need no further read.
local readPage, readOffset = page, 0

-- Time of the unit at an index. If `alone`, nothing around it is read.
unitTime = function(index, alone)
  local offset = headLength + 8 * index - readOffset
  if offset < 0 or offset + 8 > #readPage then
    offset = alone and 0 or math.min(8 * index, 256)
    readOffset = headLength + 8 * index - offset
    readPage = call('GETRANGE', key, readOffset, readOffset + (alone and 7 or PAGE / 2 - 1))
  end
  if #readPage < offset + 8 then -- fewer units than the head counts
    corruptKey = key
    return 0
  end
  return (unpack('>d', readPage, offset + 1))
end

-- Index of the first unit, from `low` on, that is later than the start of a window; unitCount if there is none.
-- Cursors mostly move by little, so the search gallops.
advanceCursor = function(low, start)
  if unitTime(low) > start then return low end
  local step = 1
  while low + step < unitCount and unitTime(low + step) <= start do
    low, step = low + step, 2 * step
  end
  local high = math.min(low + step, unitCount)
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if unitTime(middle, high - low > 64) <= start then low = middle else high = middle end
  end
  return high
end
--%end readers

--%begin edit
-- For refund.lua and renew.lua: functions that remove units of one time from a log and add others. Of a long log they
-- read only pages, and to close the gap of removed units they move the shorter side.

local function unitTime(log, index)
  local offset = log.headLength + 8 * index - log.pageOffset
  if offset < 0 or offset + 8 > #log.page then
    offset = math.min(8 * index, 256)
    log.pageOffset = log.headLength + 8 * index - offset
    log.page = call('GETRANGE', log.key, log.pageOffset, log.pageOffset + (PAGE / 2 - 1))
  end
  return (unpack('>d', log.page, offset + 1))
end

-- The log in the value of some rules; nil if it has no units, or is no log of theirs.
--   page  the first page of the value, or two
local function openLog(key, page, plan)
  local _, _, partCounts, _, headLength = unpack('>BI4BBI2', plan)
  local rules = math.floor(partCounts / 16)
  if rules == 0 or #page < headLength + 8 then return nil end
  local size = #page % PAGE == 0 and call('STRLEN', key) or #page
  local time, newest, shift, _, unitCount = unpack('>ddddI4', page)
  local log = { key = key, page = page, pageOffset = 0, head = sub(page, 1, headLength), headLength = headLength,
    rules = rules, size = size, hasSpare = unitCount > 0, time = time, shift = shift, newest = newest,
    unitCount = unitCount > 0 and unitCount or (size - headLength) / 8, firstUnit = (unpack('>I4', page, 37)) }
  if not (time > 0 and time < EXACT and newest >= 0 and newest <= time + LONGEST_LEASE)
    or log.unitCount % 1 > 0
    or headLength + 8 * log.unitCount > size or log.firstUnit >= log.unitCount
  then
    return nil
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

-- Finds at most `units` units of one time. Returns the index of the first, and the index after the last.
local function findUnits(log, time, units)
  local low = firstSince(log, log.firstUnit, log.unitCount, time)
  if low == log.unitCount or unitTime(log, low) ~= time then return low, low end
  return low, firstSince(log, low, math.min(log.unitCount, low + units), time + 1)
end

-- Removes the units from `low` to before `after`, adds `added` units of the time of the log, and keeps `most` units
-- of those from firstUnit on. Returns the newest unit and the log's part of the head, 0 and nil if no unit is left;
-- and what to write behind the head: all bytes as a string; or, in place, an array with the bytes to move (from, to,
-- length), then an offset and a string.
local function withoutUnits(log, low, after, firstUnit, added, most)
  local removed, unitCount, headLength = after - low, log.unitCount - after + low + added, log.headLength
  -- An index once the units are removed.
  local function moved(index)
    return index <= low and index or math.max(low, index - removed)
  end
  local first = moved(firstUnit)
  first = math.max(first, unitCount - most)
  local left = unitCount - first
  if left <= 0 then return 0, nil, '' end
  local newest = log.newest
  if added > 0 then
    newest = log.time
  elseif after == log.unitCount then
    newest = unitTime(log, low - 1)
  end
  local addedBytes, body = added > 0 and repeatBytes(pack('>d', log.time), added) or ''
  local offset = 0 -- of the stored indexes
  -- More spare room would waste memory.
  if log.hasSpare and left > EXACT_SIZE_UNITS and log.size - headLength <= 16 * left then
    if low - log.firstUnit < log.unitCount - after and headLength + 8 * (log.unitCount + added) <= log.size then
      offset = removed -- the older units move up
      body = { headLength + 8 * log.firstUnit, headLength + 8 * (log.firstUnit + removed), 8 * (low - log.firstUnit),
        headLength + 8 * log.unitCount, addedBytes }
    elseif headLength + 8 * unitCount <= log.size then
      body = { headLength + 8 * after, headLength + 8 * low, 8 * (log.unitCount - after),
        headLength + 8 * (unitCount - added), addedBytes }
    end
  end
  if not body then
    offset = -first
    local older, newer, from = '', '', math.max(after, first + removed)
    if first < low then
      older = call('GETRANGE', log.key, headLength + 8 * first, headLength + 8 * low - 1)
    end
    if from < log.unitCount then
      newer = call('GETRANGE', log.key, headLength + 8 * from, headLength + 8 * log.unitCount - 1)
    end
    body = older .. newer .. addedBytes
      .. (left > EXACT_SIZE_UNITS and repeatBytes('\0', 8 * math.floor(left / 8)) or '')
  end
  local stored = unitCount + offset
  local logHead = pack('>I4', stored > EXACT_SIZE_UNITS and stored or 0)
  for r = 1, log.rules do
    local cursor = moved((unpack('>I4', log.head, LOG_HEAD - 3 + 4 * r)))
    logHead = logHead .. pack('>I4', math.max(cursor, first) + offset)
  end
  return newest, logHead, body
end

-- Writes the array that withoutUnits returned. Moves a few bytes at a time: for a long string, Lua would first have
-- to allocate memory.
local function writeInPlace(key, steps)
  local from, to, length, offset, bytes = steps[1], steps[2], steps[3], steps[4], steps[5]
  for done = 0, from ~= to and length - 1 or -1, 8192 do
    local part = math.min(8192, length - done)
    local at = from < to and length - done - part or done
    call('SETRANGE', key, to + at, call('GETRANGE', key, from + at, from + at + part - 1))
  end
  if bytes ~= '' then call('SETRANGE', key, offset, bytes) end
end
--%end edit
