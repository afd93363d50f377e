-- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads and writes a log: the times of its units, oldest first. It runs in the loop over
-- the charges, before the cells.
--
-- An exact-size log is shorter than a page and is rewritten as a whole. A longer one has spare room: it is written in
-- place while the room at its end lasts, then rewritten without the units that have left the longest window. So a call
-- costs the same at any length, except for the bytes that such a rewrite moves. A log keeps as many units as its rules
-- need, or as the longest window had before this call, if that is more: under a larger count.
--
-- Reports the status that the log alone would give, the time of the decision, and the newest unit before this call
-- (d, d); then for each rule the units that remain before this call (i4) and a time (d). If the rule is violated, it is
-- the time until the call could pass, -1 if it never could; else the time until the next unit comes back and the call
-- could pass again. The call is allowed unless a rule has fewer units left than the cost.
--
-- The section "quick" is the common case in few instructions: a stack of one or two logs and nothing else acquires
-- units, and the log is exact-size, or new, so that all its units are in `value`. If anything is unusual, `report`
-- stays nil, nothing has changed, and the section "any" decides. Where only the second cursor has moved, and by less
-- than four units, it is not stored: a cursor is where a search begins, and the value need not be split.
--
-- Constants, functions and variables of the script:
-- luacheck: read globals PEEK ACQUIRE LEASE RECORD OBSERVE ADMITTED LIMITED HEAD LOG_HEAD EXACT_SIZE_UNITS
-- luacheck: read globals LONGEST_LEASE call pack unpack sub clock age
-- Of this key:
-- luacheck: read globals key plan value headLength memory mode cost logRules now nowBytes newest cursor secondCursor
-- luacheck: read globals keepsTtl firstCount firstWindow secondCount secondWindow
-- Defined by an included part:
-- luacheck: read globals repeatBytes
-- Results:
-- luacheck: globals planPos unitCount admitted denied corruptKey report head logHead newestBytes keptUnits newUnits
-- luacheck: globals spare unitsOffset need

do
  --%begin quick
  local endPos, firstPos = #value + 1, headLength + 1 -- where the next unit will be, and where the first one is
  local units = (endPos - firstPos) / 8
  if units % 1 == 0 and units + cost <= EXACT_SIZE_UNITS and cursor <= units and newest >= 0 and newest <= now then
    -- For each rule the first unit inside its window: its position in the value, and its time; else the end, and now.
    local windowStart, pos = now - firstWindow, firstPos + 8 * cursor
    local oldest, last = pos < endPos and unpack('>d', value, pos) or now, pos + 64
    while oldest <= windowStart and pos < last do
      pos = pos + 8
      oldest = pos < endPos and unpack('>d', value, pos) or now
    end
    local remaining, waitTime, isUsual = firstCount - (endPos - pos) / 8, oldest - windowStart, oldest > windowStart
    if remaining < cost then
      denied = true
      waitTime = cost <= firstCount and unpack('>d', value, endPos - 8 * (firstCount - cost + 1)) - windowStart or -1
      isUsual = isUsual and waitTime <= firstWindow
    elseif cost > 1 and remaining < 2 * cost then -- the unit that must leave before the call can pass again
      local leavingPos = pos + 8 * (2 * cost - remaining - 1)
      waitTime = leavingPos < endPos and unpack('>d', value, leavingPos) - windowStart or firstWindow
    end
    local secondPos, storedPos, secondRemaining, secondWait = pos, pos
    if logRules == 2 then
      local secondStart = now - secondWindow
      storedPos = firstPos + 8 * secondCursor
      if storedPos > pos then
        secondPos, last = storedPos, storedPos + 64
        oldest = secondPos < endPos and unpack('>d', value, secondPos) or now
      else
        last = pos + 64
      end
      while oldest <= secondStart and secondPos < last do
        secondPos = secondPos + 8
        oldest = secondPos < endPos and unpack('>d', value, secondPos) or now
      end
      secondRemaining, secondWait = secondCount - (endPos - secondPos) / 8, oldest - secondStart
      isUsual = isUsual and oldest > secondStart and secondPos <= endPos
      if secondRemaining < cost then
        denied = true
        local leavingPos = endPos - 8 * (secondCount - cost + 1)
        secondWait = cost <= secondCount and unpack('>d', value, leavingPos) - secondStart or -1
        isUsual = isUsual and secondWait <= secondWindow
      elseif cost > 1 and secondRemaining < 2 * cost then
        local leavingPos = secondPos + 8 * (2 * cost - secondRemaining - 1)
        secondWait = leavingPos < endPos and unpack('>d', value, leavingPos) - secondStart or secondWindow
      end
    end
    if not isUsual then
      denied = false
    else
      if logRules == 2 then
        report = pack('>c1c8di4di4d', denied and LIMITED or ADMITTED, nowBytes, newest, remaining, waitTime,
          secondRemaining, secondWait)
      else
        report = pack('>c1c8di4d', denied and LIMITED or ADMITTED, nowBytes, newest, remaining, waitTime)
      end
      if denied then
        admitted = false
      else
        newUnits = cost > 1 and string.rep(nowBytes, cost) or nowBytes
        if keepsTtl and pos == firstPos and secondPos - storedPos < 32 then -- the rest of the value stays as it is
          head, keptUnits = nowBytes, sub(value, 17)
        else
          head = nowBytes .. sub(value, 17, 24)
            .. (keepsTtl and sub(value, 25, HEAD) or pack('>d', clock + memory + math.floor(memory / 16)))
          if pos == firstPos and secondPos - storedPos < 32 then
            keptUnits = sub(value, HEAD + 1)
          else
            head = head .. '\0\0\0\0\0\0\0\0'
            if logRules == 2 then head = head .. pack('>I4', (secondPos - pos) / 8) end
            keptUnits = sub(value, pos)
          end
        end
      end
    end
  end
  --%end quick
end

do
  --%begin any
  local page, hasSpare = value, unitCount > 0
  local cursors, unitTime, advanceCursor -- cursors that differ from the stored ones; two functions
  if not hasSpare then
    unitCount = (#value - headLength) / 8
    if unitCount % 1 > 0 or unitCount > EXACT_SIZE_UNITS then -- truncated, or followed by other bytes
      corruptKey, unitCount = key, 0
    end
  end
  if not (newest >= 0 and newest <= now + LONGEST_LEASE) then corruptKey = key end
  local stamp = mode == LEASE and now - age or now -- of the units of this call
  if newest > stamp then stamp = newest end -- behind those of a lease, since a log is in order

  -- The first two rules are read and reported at once, since most stacks have no more; every call of a function counts.
  local firstRemaining, firstWait, secondRemaining, secondWait, otherReports
  local knownCursor, knownOldest -- of the rule before: mostly all cursors are at the same unit
  for r = 1, logRules do
    local count, window, cursorOfRule = firstCount, firstWindow, cursor
    if r == 2 then
      count, window, cursorOfRule = secondCount, secondWindow, secondCursor
    elseif r > 2 then
      count, window = unpack('>dd', plan, planPos + 16 * r - 16)
      cursorOfRule = unpack('>I4', value, LOG_HEAD - 3 + 4 * r)
    end
    local oldest, windowStart = stamp, now - window
    if cursorOfRule > unitCount then
      corruptKey, cursorOfRule = key, unitCount
    elseif knownCursor and cursorOfRule < knownCursor then -- the window is not longer than that of the rule before
      cursorOfRule = knownCursor
    end
    if cursorOfRule < unitCount then
      if cursorOfRule == knownCursor then
        oldest = knownOldest
      else
        local offset = headLength + 8 * cursorOfRule
        oldest = offset + 8 <= #page and unpack('>d', page, offset + 1) or windowStart
      end
      if oldest <= windowStart then
        if not unitTime then
          --%units.readers
        end
        cursorOfRule = advanceCursor(cursorOfRule, windowStart)
        oldest = cursorOfRule < unitCount and unitTime(cursorOfRule) or stamp
        cursors = cursors or {}
        cursors[r] = cursorOfRule
      end
      knownCursor, knownOldest = cursorOfRule, oldest
    end
    local remaining, waitTime = count - unitCount + cursorOfRule, oldest - windowStart
    -- The unit that must leave first: before this call can pass, again or at all, or, after a record without room,
    -- before any call can pass.
    local leavingUnit
    if remaining < cost then
      leavingUnit = unitCount + cost - count
      if mode ~= RECORD then
        admitted, denied, leavingUnit = admitted and mode == OBSERVE, true, leavingUnit - 1
      end
    elseif cost > 1 and remaining < 2 * cost and mode ~= PEEK then
      leavingUnit = cursorOfRule + 2 * cost - remaining - 1
    end
    if leavingUnit then
      if leavingUnit < unitCount then
        if not unitTime then
          --%units.readers
        end
        waitTime = unitTime(leavingUnit) - windowStart
        if not (waitTime <= window + LONGEST_LEASE) then corruptKey = key end
      else
        waitTime = remaining < cost and mode ~= RECORD and -1 or window + stamp - now
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
  local status = denied and LIMITED or ADMITTED -- the cells have the last word
  if logRules > 1 then
    report = pack('>c1c8di4di4d', status, nowBytes, newest, firstRemaining, firstWait, secondRemaining, secondWait)
    if otherReports then report = report .. otherReports end
  else
    report = pack('>c1c8di4d', status, nowBytes, newest, firstRemaining, firstWait)
  end
  planPos = planPos + 16 * logRules + 4

  if mode ~= PEEK and admitted and not denied and not corruptKey then
    local firstCursor = cursors and cursors[1] or cursor
    local firstKept, added = firstCursor, cost
    if mode ~= ACQUIRE then -- else the units fit, or a rule would have denied them
      local most = math.max((unpack('>I4', plan, planPos - 4)), unitCount - firstCursor)
      added = math.min(cost, most)
      firstKept = math.max(firstCursor, unitCount + added - most)
    end
    newestBytes, need = stamp > now and pack('>d', stamp) or nowBytes, need + stamp - now
    --%units.repeat
    newUnits = added > 1 and repeatBytes(newestBytes, added) or newestBytes
    if not hasSpare and not cursors and firstKept == firstCursor and unitCount + added <= EXACT_SIZE_UNITS then
      keptUnits = sub(value, headLength + 1)
      logHead = sub(value, HEAD + 1, LOG_HEAD + 4 * logRules)
    else
      local inPlace = hasSpare and firstKept <= unitCount / 8
        and headLength + 8 * (unitCount + added) <= call('STRLEN', key)
      local firstWritten = inPlace and 0 or firstKept
      local written = unitCount - firstWritten + added
      logHead = pack('>I4', written > EXACT_SIZE_UNITS and written or 0)
      for r = 1, logRules do
        local index = cursors and cursors[r] or r == 1 and cursor or r == 2 and secondCursor
          or unpack('>I4', value, LOG_HEAD - 3 + 4 * r)
        logHead = logHead .. pack('>I4', math.max(index, firstKept) - firstWritten)
      end
      if inPlace then
        unitsOffset = headLength + 8 * unitCount
      else
        local from, to = headLength + 8 * firstKept, headLength + 8 * unitCount
        keptUnits = to <= #page and sub(page, from + 1, to) or from < to and call('GETRANGE', key, from, to - 1) or ''
        if written > EXACT_SIZE_UNITS then spare = repeatBytes('\0\0\0\0\0\0\0\0', math.floor(written / 8)) end
      end
    end
  end
  --%end any
end
