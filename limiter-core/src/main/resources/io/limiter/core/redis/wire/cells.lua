-- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads and writes cells: the numbers of each rule that has no log, and last the numbers of
-- the ban. It runs in the loop over the keys, after the log. It computes only what the decision needs. The caller
-- computes what remains and when more comes back, from the reported numbers.
--
-- Each algorithm has a file of its own, such as token-bucket.lua. "each decide else" stands for their branches, and for
-- an `else` that belongs to the `if` after it. A section "decide" moves planPos and cellPos behind the algorithm's
-- numbers, and sets `remaining`, the units that are left before the call, and newCell, its numbers if it is admitted.
--
-- Cells begin as decide.lua describes, then:
--   25     for each cell its fingerprint (I4: algorithm and parameters, but not the count) and its numbers' count (B)
--   ..     the numbers (d). The first one of each cell is a time; it is negative if the rule was never used
-- The first cell describes the others, for rules of other stacks. It has the time at which the first of them was
-- written (d), and for each other cell its kind (B; 0 if no other rule can convert it), how long it is needed (B; a
-- power of two in seconds), and the scale of its numbers (I6: parts of a token, or the window in microseconds). Old
-- releases did not write it.
--
-- Reports the time (d) and the numbers before this call; then, if there is a ban, for how long it still holds (d).
--
-- Constants, functions and variables of the script:
-- luacheck: read globals EXACT PEEK ACQUIRE RECORD OBSERVE CELLS_MARK SECONDS_LIMIT BAN BAN_SIZE DESCRIPTION
-- luacheck: read globals ADMITTED LIMITED BANNED call pack unpack sub clock writes
-- Of this key:
-- luacheck: read globals i key plan value arguments mode cost age cellCount logRules cellsLength fingerprint writer
-- luacheck: read globals logOffset hasForeignCells corruptKey unitBytes
--   ownCells    the cells of this stack, if `value` was written by other rules
--   foreign     the cells of other rules, which stay (foreign.lua)
-- luacheck: read globals ownCells foreign
--   nowBytesTime  the time that nowBytes has, if the log has set it
-- luacheck: read globals nowBytesTime
-- Results. `newest` and `shift` are those of the cells:
-- luacheck: globals planPos newest shift admitted denied banned report written nowBytes
-- luacheck: globals ttls presentTtls shiftRepairs deniedWrites

local cellBytes, headerEnd, now, sameLayout = value, 37 + 13 * cellCount, clock + shift, writer == fingerprint
if not sameLayout then cellBytes = ownCells end
if not (now >= 0 and now < EXACT and newest < EXACT) then
  cellBytes = sub(plan, planPos, planPos + cellsLength - 1)
  newest, shift, now, sameLayout = 0, 0, clock, false
end
if now < newest then -- Redis' clock was set back: time continues from the last write
  shift, now, sameLayout = newest - clock, newest, false
  if mode ~= PEEK then
    shiftRepairs = shiftRepairs or {}
    shiftRepairs[i] = shiftRepairs[i] or {}
    shiftRepairs[i][16] = shift
    if hasForeignCells or logRules == 0 and #value > logOffset then
      presentTtls = presentTtls or {}
      presentTtls[i] = call('PTTL', key)
    end
  end
end

if age > 0 then now = math.max(now - age, newest) end

-- `deniedWrite`: the cells change although the call is denied, since a bucket's time starts or a violation counts.
local cellPos, planCells, deniedWrite, newNumbers = headerEnd + 1, planPos, false
if now ~= nowBytesTime then nowBytes = pack('>d', now) end
local reportedNumbers, reportedBan = sub(cellBytes, cellPos, cellsLength), ''
planPos = planPos + cellsLength
for _ = 1, cellCount do
  local algorithm, firstNumber, secondNumber = unpack('>Bdd', plan, planPos) -- what most begin with
  local remaining, newCell
  --%each decide else
  if algorithm == BAN then -- after all rules
    local limit, within, banTime, growth, maxBan = firstNumber, secondNumber, unpack('>ddd', plan, planPos + 17)
    -- The first violation that counts, or the start of the ban less half a microsecond; how many violations; the end of
    -- the ban; how many bans there were in a row.
    local since, violations, banEnd, level = unpack('>dddd', cellBytes, cellPos)
    if not (since <= now and violations >= 0 and level >= 0) then
      since, violations, banEnd, level = 0, 0, 0, 0
      cellBytes = sub(cellBytes, 1, cellPos - 1) .. string.rep('\0', 8 * BAN_SIZE)
        .. sub(cellBytes, cellPos + 8 * BAN_SIZE)
    end
    if since % 1 > 0 then -- a ban has started: it lasts no longer than these rules allow
      banEnd = math.min(banEnd, since + 0.5 + maxBan)
    elseif not (banEnd - now <= maxBan) then
      banEnd = now + maxBan
    end
    if banEnd > now and mode ~= OBSERVE then -- a ban does not apply to a charge that is only observed
      admitted = admitted and mode == RECORD
    elseif mode == ACQUIRE and denied then
      if violations == 0 or now - since >= within then since, violations = now, 0 end
      violations = violations + 1
      if violations >= limit then
        if banEnd <= 0 or now - banEnd >= maxBan then level = 0 end
        local duration = banTime
        for _ = 1, level do
          duration = duration * growth
          if duration >= maxBan then break end
        end
        banEnd, level, violations, since = now + math.min(duration, maxBan), level + 1, 0, now - 0.5
      end
      cellBytes = sub(cellBytes, 1, cellPos - 1) .. pack('>dddd', since, violations, banEnd, level)
        .. sub(cellBytes, cellPos + 8 * BAN_SIZE)
      deniedWrite = true
    end
    local needed = math.max(violations > 0 and since + within - now or 0, banEnd > 0 and banEnd + maxBan - now or 0)
    if needed > 0 then
      ttls = ttls or {}
      ttls[i] = string.format('%.0f', math.max(math.ceil(needed / 1000) + 1000, ttls[i] or arguments[2 * i]))
    end
    banned = banEnd > now and mode < RECORD
    reportedBan = pack('>d', math.max(0, banEnd - now))
    -- A ban that these rules cut is stored as it was, for rules that do not cut it.
    newCell = sub(cellBytes, cellPos, cellPos + 8 * BAN_SIZE - 1)
  else -- a custom algorithm: time of the last write, its numbers
    local evaluate
    --%custom-algorithms
    local _, size, count, window, memory, parameterCount = unpack('>BBdddB', plan, planPos)
    local parameters, state = {}, {}
    for p = 1, parameterCount do parameters[p] = unpack('>d', plan, planPos + 19 + 8 * p) end
    planPos = planPos + 27 + 8 * parameterCount
    local last = unpack('>d', cellBytes, cellPos)
    for s = 1, size do state[s] = unpack('>d', cellBytes, cellPos + 8 * s) end
    cellPos = cellPos + 8 + 8 * size
    if not (last >= 0 and last <= now and now - last < memory) then state = nil end
    local nextState
    remaining, nextState = evaluate(now, cost, count, window, parameters, state)
    if mode == RECORD and remaining < cost then
      local unitsTaken = math.min(cost, math.max(0, math.floor(remaining)))
      remaining, nextState = evaluate(now, unitsTaken, count, window, parameters, state)
    end
    newCell = pack('>d', now)
    for s = 1, size do newCell = newCell .. pack('>d', nextState[s]) end
  end
  newNumbers = newNumbers and newNumbers .. newCell or newCell
  if remaining and remaining < cost and mode ~= RECORD then admitted, denied = admitted and mode == OBSERVE, true end
end
local status = banned and BANNED or denied and LIMITED or ADMITTED
if report then
  report = status .. sub(report, 2) .. nowBytes .. reportedNumbers .. reportedBan
else
  report = status .. nowBytes .. reportedNumbers .. reportedBan
end
if deniedWrite or mode ~= PEEK and admitted and not denied and not corruptKey then
  local valueStart = sub(plan, planCells, planCells + 7) -- fingerprint and mark
  local header -- the rest of it, but for the time of the write
  if deniedWrite then newNumbers = sub(cellBytes, headerEnd + 1, cellsLength) end
  if sameLayout then
    header = sub(cellBytes, 17, headerEnd)
  else
    local descriptionsStart = headerEnd - 8 * cellCount
    local cellHeaders = sub(cellBytes, 25, descriptionsStart - 8)
    local createdAt = sub(cellBytes, descriptionsStart - 7, descriptionsStart)
    if unpack('>d', createdAt) < 0 then createdAt = nowBytes end
    local descriptions = sub(cellBytes, descriptionsStart + 1, headerEnd)
    if foreign then
      local ownSeconds = math.floor(unpack('>I4', valueStart, 5) / 16) - SECONDS_LIMIT
      local seconds = math.max(ownSeconds, math.min(foreign.seconds, SECONDS_LIMIT - 1))
      local allCells = cellCount + foreign.count + 1
      valueStart = pack('>I4I4', 0, CELLS_MARK + 16 * seconds + allCells)
      cellHeaders = pack('>I4B', DESCRIPTION, allCells) .. sub(cellHeaders, 6) .. foreign.headers
      descriptions, newNumbers = descriptions .. foreign.descriptions, newNumbers .. foreign.numbers
      presentTtls = presentTtls or {}
      presentTtls[i] = call('PTTL', key)
    end
    header = pack('>d', shift) .. cellHeaders .. createdAt .. descriptions
  end
  if written and not deniedWrite then
    written = valueStart .. nowBytes .. header .. newNumbers .. written .. unitBytes
  else
    written = valueStart .. nowBytes .. header .. newNumbers
    if #value > logOffset then
      --%trailing-log
    end
  end
  if sameLayout and not writes and not ttls and logRules == 0 and mode == ACQUIRE and not deniedWrite
    and #value == logOffset
  then -- nothing else has to be decided first
    if now % ((arguments[2] - 1000) * (1000 / 17)) >= now - newest then
      call('SET', key, written, 'KEEPTTL')
      written = nil
    end
  end
  if deniedWrite then
    deniedWrites = deniedWrites or {}
    deniedWrites[i], written = written, nil
  end
elseif denied then
  written = nil
end
