-- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads and writes a log. It runs in the loop over the keys, before the cells.
--
-- A log is a header and the times of its units (d), oldest first.
--    1 I4  fingerprint of the rules whose cursors it has; 0 if it has a shared header, or an old release wrote it
--    5 I4  units, in a log with spare room; 0 in an exact-size one, whose units fill the value to its end
--    9 d   time of the newest unit, in a log with spare room
--   17 d   shift: the time of a unit is Redis' clock + shift
--   25 I4  maxUnits: the most units that a rule of this log needs
--   29 d   horizon: the longest window of a rule of this log; older units leave the log
--   37 B   PLAIN_HEADER plus the number of rules, or SHARED_HEADER
--   38 I4  for each rule its cursor: the index of its first unit that is still inside the window
--
-- Rules may change, or differ between stacks that share the log. The horizon of a stack with a longer window holds
-- until that window has passed since the stack last took units. Then the horizon of the stack that writes replaces it.
-- If the horizon is the writer's own, it holds until newest + horizon, which is not stored; that header is plain.
-- Otherwise the header is shared: its fingerprint is 0, byte 37 is SHARED_HEADER, and in the place of eight cursors it
-- has
--   38 I4  fingerprint of the rules whose cursors these are
--   42 d   horizonEnd: the time until which the horizon holds
--   50 I4  index of the oldest unit that the log still has
--   54 I4  the cursors of the first four rules; the cursors of the others are searched for
-- So stacks of any rules write the log in place in turn. A release without shared headers stored cursors here, also
-- with fingerprint 0. They are no whole time, and are ignored.
--
-- An exact-size log is shorter than a page and is rewritten as a whole. A longer one has spare room: it is written in
-- place while the room at its end lasts, then rewritten without the units past the horizon. If it has a plain header of
-- other rules, it is rewritten once, with a shared header. So a call costs the same at any length, except for the bytes
-- that such a rewrite moves.
--
-- Reports the status that the log alone would give; the time of the decision and of the newest unit before this call
-- (d, d); then for each rule the units that
-- remain before this call (i4) and a time (d). If the rule is violated, it is the time until the call could pass, -1 if
-- it never could; else the time until the next unit comes back and the call could pass again. The call is allowed
-- unless a rule has fewer units left than the cost.
--
-- Constants, functions and variables of the script:
-- luacheck: read globals EXACT MAX_WINDOW GRACE PEEK RECORD OBSERVE ADMITTED LIMITED
-- luacheck: read globals LOG_HEADER PLAIN_HEADER SHARED_HEADER EXACT_SIZE_UNITS SECONDS_LIMIT PAGE
-- luacheck: read globals call pack unpack sub clock
-- Of this key; `writer` to `headCursor` are the first fields of `value`:
-- luacheck: read globals i key plan value arguments mode cost age cellCount logRules logFingerprint
-- luacheck: read globals writer mark newest shift headMaxUnits headHorizon headKind headCursor headCursor2
-- luacheck: read globals logOffset hasForeignCells newCellsLength
-- Defined by an included part:
-- luacheck: read globals repeatBytes
-- Results. `written` is the new value, or its part before `unitBytes`; `nowBytes` is nowBytesTime as 8 bytes:
-- luacheck: globals planPos admitted denied corruptKey report written unitBytes nowBytes nowBytesTime
-- luacheck: globals patches ttls presentTtls shiftRepairs

local page, headerLength, now, hasSpare = value, LOG_HEADER + 4 * logRules, clock, false
local logWriter, unitCount, logNewest, logShift = writer, mark, newest, shift
local maxUnits, horizon, headerKind, firstCursor, secondCursor =
  headMaxUnits, headHorizon, headKind, headCursor, headCursor2
-- Cells of other rules that stay in front of the log; cursors that differ from the stored ones; two functions.
local frontCells, cursors, unitTime, advanceCursor
-- Of a log without a plain header of these rules: the index of its oldest unit (nil for a plain header of these rules);
-- the fingerprint of the rules whose cursors a shared header has; the time until which a longer horizon holds; whether
-- this call makes the log keep more units.
local firstUnit, cursorOwner, horizonEnd, keepsMore
if cellCount > 0 or logOffset > 0 then
  if cellCount > 0 then
    page = logOffset > 0 and sub(value, logOffset + 1) or value
  else
    -- This stack has no cells. Those of other rules stay in front of its log while they may be needed.
    if clock + logShift - logNewest <= (math.floor(unitCount / 16) - SECONDS_LIMIT) * 1000000 + GRACE then
      frontCells, presentTtls = sub(value, 1, logOffset), presentTtls or {}
      presentTtls[i] = call('PTTL', key)
    end
    page = call('GETRANGE', key, logOffset, logOffset + (PAGE - 1))
  end
  logWriter = nil
  if #page >= LOG_HEADER + 12 then -- with one cursor and one unit
    logWriter, unitCount, logNewest, logShift, maxUnits, horizon, headerKind, firstCursor, secondCursor =
      unpack('>I4I4ddI4dBI4I4', page)
  end
end
if logWriter and logWriter ~= logFingerprint then -- a stack with other rules, a shared header, or bytes that are no log
  local storedHeader = LOG_HEADER + 4 * (headerKind - PLAIN_HEADER)
  local logLength = #page < PAGE and #page or call('STRLEN', key) - logOffset
  hasSpare = unitCount > 0
  if not hasSpare then unitCount = (logLength - storedHeader) / 8 end
  -- Units before this one are no longer part of the log, though a log with spare room still has their bytes.
  firstUnit = math.max(logWriter ~= 0 and firstCursor or 0, unitCount - maxUnits)
  if headerKind <= PLAIN_HEADER or headerKind > SHARED_HEADER or firstUnit >= unitCount or unitCount % 1 > 0
    or storedHeader + 8 * unitCount > logLength or not (horizon <= MAX_WINDOW)
    or not hasSpare and logLength > #page
  then
    logWriter, firstUnit, hasSpare = nil, nil, false
  else
    if not hasSpare then logNewest = unpack('>d', page, #page - 7) end
    headerLength, cursors, horizonEnd = storedHeader, {}, logNewest + horizon
    if logWriter == 0 and headerKind == SHARED_HEADER then
      local owner, holdsUntil, oldestUnit = unpack('>I4dI4', page, 38)
      if holdsUntil > logNewest and holdsUntil <= horizonEnd and holdsUntil % 1 == 0 and oldestUnit < unitCount then
        cursorOwner, horizonEnd, firstUnit = owner, holdsUntil, math.max(firstUnit, oldestUnit)
      end
    end
  end
elseif logWriter and unitCount > 0 then
  hasSpare = true
elseif logWriter then
  unitCount = (#page - headerLength) / 8
  if unitCount < 0 or unitCount % 1 > 0 then -- truncated, or followed by other bytes
    corruptKey, unitCount = key, 0
  end
  logNewest = unitCount > 0 and unpack('>d', page, #page - 7) or 0
end
if not logWriter then
  page = sub(plan, planPos + 16 * logRules, planPos + 20 * logRules + LOG_HEADER - 1)
  unitCount, logNewest, logShift, firstCursor, secondCursor = 0, 0, 0, 0, 0
else
  now = clock + logShift
  if not (now >= 0 and now < EXACT and logNewest >= 0 and logNewest < EXACT) then corruptKey = key end
  if now < logNewest then -- Redis' clock was set back: the log's time continues from its newest unit
    logShift, now, cursors = logNewest - clock, logNewest, cursors or {}
    if mode ~= PEEK then
      shiftRepairs = shiftRepairs or {}
      shiftRepairs[i] = { [logOffset + 16] = logShift }
      if hasForeignCells then
        presentTtls = presentTtls or {}
        presentTtls[i] = call('PTTL', key)
      end
    end
  end
end

if age > 0 then now = math.max(now - age, logNewest) end
if firstUnit then -- what the log keeps from now on, if this call takes units
  local ownMaxUnits, ownHorizon = unpack('>I4d', plan, planPos + 16 * logRules + 24)
  -- A release that does not support shared headers takes the newest maxUnits units for all that the log has.
  keepsMore = firstUnit > 0 and ownMaxUnits > maxUnits
  if ownHorizon < horizon and now < horizonEnd then
    maxUnits, ttls = math.max(ownMaxUnits, maxUnits), ttls or {}
    ttls[i] = string.format('%.0f', math.max(math.ceil(horizon * 17 / 16000) + 1000, arguments[2 * i]))
  else
    maxUnits = ownHorizon < horizon and ownMaxUnits or math.max(ownMaxUnits, maxUnits)
    horizon, horizonEnd = ownHorizon, nil
  end
  firstCursor = firstUnit
end
-- The first two rules are read and reported at once, since most stacks have no more; every call of a function counts.
local count, window, secondCount, secondWindow
if logRules > 1 then
  count, window, secondCount, secondWindow = unpack('>dddd', plan, planPos)
else
  count, window = unpack('>dd', plan, planPos)
end
local firstRemaining, firstWait, secondRemaining, secondWait, otherReports
local knownCursor, knownOldest -- of the rule before: mostly all cursors are at the same unit
for r = 1, logRules do
  if r == 2 then
    count, window = secondCount, secondWindow
  elseif r > 2 then
    count, window = unpack('>dd', plan, planPos + 16 * r - 16)
  end
  local cursor, oldest, windowStart = 0, now, now - window
  if unitCount > 0 then
    local cursorStored = true
    if not firstUnit then
      cursor = r == 1 and firstCursor or r == 2 and secondCursor or unpack('>I4', page, 34 + 4 * r)
    else -- windows are in order: a cursor is never before that of a longer window
      cursor, cursorStored = r == 1 and firstUnit or cursors[r - 1], cursorOwner == logFingerprint and r <= 4
      if cursorStored then cursor = math.max(cursor, (unpack('>I4', page, 50 + 4 * r))) end
      cursors[r] = cursor
    end
    if cursor < unitCount then
      if cursor == knownCursor then
        oldest = knownOldest
      else
        local cursorOffset = headerLength + 8 * cursor
        oldest = cursorOffset + 8 <= #page and unpack('>d', page, cursorOffset + 1) or windowStart
      end
      if oldest <= windowStart then
        if not unitTime then
          --%unit-readers
        end
        cursor = advanceCursor(cursor, windowStart, not cursorStored)
        oldest = cursor < unitCount and unitTime(cursor) or now
        cursors = cursors or {}
        cursors[r] = cursor
      end
      knownCursor, knownOldest = cursor, oldest
    elseif cursor > unitCount then
      corruptKey = key
    end
  end
  local remaining, waitTime = count - unitCount + cursor, oldest - windowStart
  -- The unit that must leave first: before this call can pass, again or at all, or, after a record without room, before
  -- any call can pass.
  local leavingUnit
  if remaining < cost then
    leavingUnit = unitCount + cost - count
    if mode ~= RECORD then
      admitted, denied, leavingUnit = admitted and mode == OBSERVE, true, leavingUnit - 1
    end
  elseif cost > 1 and remaining < 2 * cost and mode ~= PEEK then
    leavingUnit = cursor + 2 * cost - remaining - 1
  end
  if leavingUnit then
    if leavingUnit < unitCount then
      if not unitTime then
        --%unit-readers
      end
      waitTime = unitTime(leavingUnit) - windowStart
      if not (waitTime <= window) then corruptKey = key end
    else
      waitTime = remaining < cost and mode ~= RECORD and -1 or window
    end
  end
  if r == 1 then
    firstRemaining, firstWait = remaining, waitTime
  elseif r == 2 then
    secondRemaining, secondWait = remaining, waitTime
  else
    otherReports = (otherReports or '') .. pack('>i4d', remaining, waitTime)
  end
end
local status = denied and LIMITED or ADMITTED -- cells follow without this byte; they have the last word
if logRules > 1 then
  report = pack('>c1ddi4di4d', status, now, logNewest, firstRemaining, firstWait, secondRemaining, secondWait)
  if otherReports then report = report .. otherReports end
else
  report = pack('>c1ddi4d', status, now, logNewest, firstRemaining, firstWait)
end
planPos = planPos + LOG_HEADER + 20 * logRules

if mode ~= PEEK and admitted and not denied and not corruptKey then
  nowBytes, nowBytesTime = pack('>d', now), now
  if not cursors and not hasSpare and mode ~= RECORD and unitCount + cost <= EXACT_SIZE_UNITS then
    unitBytes = cost > 1 and string.rep(nowBytes, cost) or nowBytes
    written = page -- the log as it was, then these units: they fit, or a rule would have denied them
  else
    if not firstUnit then
      -- Bytes that are no log may contain a lower maximum than these rules need.
      maxUnits = math.max(unpack('>I4', page, 25), (unpack('>I4', plan, planPos - 4 * logRules - 13)))
    end
    --%repeat
    local unitsTaken = math.min(cost, maxUnits)
    unitBytes = unitsTaken > 1 and repeatBytes(nowBytes, unitsTaken) or nowBytes
    firstCursor = cursors and cursors[1] or firstCursor
    if horizonEnd then
      if not unitTime then
        --%unit-readers
      end
      firstCursor = advanceCursor(firstUnit, now - horizon)
    end
    local inPlace = hasSpare
      and (cursorOwner and not keepsMore or not firstUnit)
      and firstCursor <= unitCount / 8
      and logOffset == (frontCells and logOffset or newCellsLength)
      and logOffset + headerLength + 8 * (unitCount + unitsTaken) <= call('STRLEN', key)
    local firstWritten = inPlace and 0 or math.max(firstCursor, unitCount + unitsTaken - maxUnits)
    local writtenUnits = unitCount - firstWritten + unitsTaken
    local header
    if firstUnit and (inPlace or horizonEnd or not cursorOwner and writtenUnits > EXACT_SIZE_UNITS) then
      local storedCount = writtenUnits > EXACT_SIZE_UNITS and writtenUnits or 0
      local oldestUnit = inPlace and math.max(firstCursor, unitCount + unitsTaken - maxUnits) or 0
      header = pack('>I4I4ddI4dB', 0, storedCount, now, logShift, maxUnits, horizon, SHARED_HEADER)
        .. pack('>I4dI4', logFingerprint, horizonEnd or now + horizon, oldestUnit)
      for r = 1, 4 do
        header = header .. pack('>I4', math.max(0, (cursors[r] or 0) - firstWritten))
      end
    else
      local storedCount = writtenUnits > EXACT_SIZE_UNITS and writtenUnits or 0
      header = firstUnit
        and pack('>I4I4ddI4dB', logFingerprint, storedCount, now, logShift, maxUnits, horizon, PLAIN_HEADER + logRules)
        or sub(page, 1, 4) .. pack('>I4dd', storedCount, now, logShift) .. sub(page, 25, LOG_HEADER)
      for r = 1, logRules do
        local cursor = cursors and cursors[r] or unpack('>I4', page, 34 + 4 * r)
        header = header .. pack('>I4', math.max(0, cursor - firstWritten))
      end
    end
    if inPlace then
      written, patches = header, patches or {}
      patches[i] = { logOffset + headerLength + 8 * unitCount, unitBytes }
      unitBytes = ''
    else
      local from, to = headerLength + 8 * firstWritten, headerLength + 8 * unitCount
      local spare = writtenUnits > EXACT_SIZE_UNITS and 8 * math.floor(writtenUnits / 8) or 0
      local keptUnits = to <= #page and sub(page, from + 1, to)
        or from < to and call('GETRANGE', key, logOffset + from, logOffset + to - 1) or ''
      spare = spare > 0 and repeatBytes('\0', spare) or ''
      if cellCount == 0 then -- concatenate once: every copy of a long string takes long
        written, unitBytes, frontCells = (frontCells or '') .. header .. keptUnits .. unitBytes .. spare, '', nil
      else
        written, unitBytes = header, keptUnits .. unitBytes .. spare
      end
    end
  end
  if cellCount == 0 then
    written = frontCells and frontCells .. written .. unitBytes or written .. unitBytes
  end
end
