-- SPDX-License-Identifier: Apache-2.0
--
-- Gives back the units that one decision took. decide.lua describes what is stored under a key.
--
-- KEYS[i]       the state of one subject
-- ARGV[2i - 1]  time of the units of the log (d): the log's time that decide.lua reported. If there are cells, then
--               follow the time of the cells (d), the plan, and for each cell how many units it gets back and how many
--               the call took from it (I4, I4); last, for how long the call waits (d, in the leaky bucket's parts). A
--               recorded call took at most the units that were left, so the number may differ between cells
-- ARGV[2i]      how many units of the log, as text. A recorded call took fewer if the log keeps fewer
--
-- Returns how many units were found. Units that have left the log are past every window: there is nothing to give back.
-- The same holds for tokens that have come back to a bucket, which are not given back twice. A call that waits in a
-- leaky bucket gives up its departure. Once the departure has come, there is nothing to give back.
--
-- Defined by the included constants:
-- luacheck: read globals PLAN_HEADER LOG_HEADER CELLS_HEADER CELLS_MARK MAX_CELL_BYTES DESCRIPTION
-- luacheck: read globals PLAIN_HEADER SHARED_HEADER FIRST_READ SHORTEST_VALUE

local call, pack, unpack, byte, sub = redis.call, struct.pack, struct.unpack, string.byte, string.sub
--%constants
local returnedTotal = 0

-- The cells of a subject without these units, nil if no cell counts the units any more; and the most units that a cell
-- gave back. The cells may stand among cells of other rules. Cells that were created after the units were taken do not
-- contain them.
local function withoutUnitsOfCells(cellBytes, takenAt, plan)
  local _, _, partCounts, _, _, cellsLength = unpack('>BI4BI4I4I2', plan)
  local cellCount, stored, most = partCounts % 16, {}, 0
  local planCells = PLAN_HEADER + 1 + (partCounts >= 16 and 20 * (partCounts - cellCount) / 16 + LOG_HEADER or 0)
  local storedPos, codePos = 25 + 5 * (unpack('>I4', cellBytes, 5) % 16), planCells + cellsLength
  for c = 1, unpack('>I4', cellBytes, 5) % 16 do
    local fingerprint, size = unpack('>I4B', cellBytes, 20 + 5 * c)
    if fingerprint == DESCRIPTION and unpack('>d', cellBytes, storedPos) > takenAt then return nil, 0 end
    stored[c] = { sub(cellBytes, 20 + 5 * c, 24 + 5 * c), storedPos, size }
    storedPos = storedPos + 8 * size
  end
  for c = 1, cellCount do
    local units, unitsTaken = unpack('>I4I4', plan, #plan - 7 - 8 * (cellCount - c + 1))
    local algorithm, newCell, size, cellPos = byte(plan, codePos)
    for _, cell in ipairs(stored) do
      if cell[1] == sub(plan, planCells + 24 + 5 * c, planCells + 28 + 5 * c) then
        cell[1], cellPos, size = nil, cell[2], cell[3]
        break
      end
    end
    if cellPos and units > 0 then -- else the cell is gone, or it gets nothing back, like that of the ban
      local first, second = unpack('>dd', cellBytes, cellPos)
      -- Each algorithm has a file of its own, whose section "give-back" sets newCell if anything is given back.
      --%each give-back
    end
    --%next-code
    if newCell then
      cellBytes = sub(cellBytes, 1, cellPos - 1) .. newCell .. sub(cellBytes, cellPos + 8 * size)
      most = math.max(most, units)
    end
  end
  return most > 0 and cellBytes or nil, most
end

-- Functions for a log that is longer than a page, or that has a shared header.
local function logFunctions()
  -- luacheck: read globals openLog findUnits withoutUnits writeInPlace newHeader
  --%edit-log
  return openLog, findUnits, withoutUnits, writeInPlace, newHeader
end

-- An exact-size log with a plain header without these units, nil if it has none of them; and how many it had.
local function withoutUnitsOfShortLog(log, ruleCount, takenAt, units)
  local headerLength = LOG_HEADER + 4 * ruleCount
  local unitCount = math.floor((#log - headerLength) / 8)
  local low, high = math.max(unpack('>I4', log, 38), unitCount - unpack('>I4', log, 25)), unitCount
  local firstUnit = low
  while low < high do -- until low is the first unit that is not older
    local middle = math.floor((low + high) / 2)
    if unpack('>d', log, headerLength + 8 * middle + 1) < takenAt then low = middle + 1 else high = middle end
  end
  local after = low
  while after < unitCount and after - low < units and unpack('>d', log, headerLength + 8 * after + 1) == takenAt do
    after = after + 1
  end
  if firstUnit + after - low >= unitCount then return '', after - low end
  if after == low then return nil, 0 end
  -- The cursors start from the oldest unit, because the time of the log may have gone back.
  return sub(log, 1, LOG_HEADER) .. string.rep('\0', 4 * ruleCount)
    .. sub(log, headerLength + 8 * firstUnit + 1, headerLength + 8 * low)
    .. sub(log, headerLength + 8 * after + 1), after - low
end

-- Everything is read before anything is written, because Redis does not roll back a script that meets a key of another
-- type. For each key: the new value, '' to delete it; its new first bytes; a log that is written in place.
local newValues, newCells, editedLogs = {}
local openLog, findUnits, withoutUnits, writeInPlace, newHeader
for i = 1, #KEYS do
  local key, argument, units = KEYS[i], ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local plan = sub(argument, 17)
  local hasLog = plan == '' or unpack('>B', plan, 6) >= 16
  local page = call('GETRANGE', key, '0', hasLog and '2047' or '1023')
  local logOffset, returned = 0, 0
  if #page >= SHORTEST_VALUE then
    local mark = unpack('>I4', page, 5)
    local cells, most
    if mark >= CELLS_MARK then -- the value begins with cells
      logOffset = CELLS_HEADER + 5 * (mark % 16)
      for c = 1, mark % 16 do logOffset = logOffset + 8 * (byte(page, 24 + 5 * c) or 255) end
    end
    if logOffset <= #page and logOffset <= MAX_CELL_BYTES then
      if plan ~= '' and logOffset > 0 then
        cells, most = withoutUnitsOfCells(sub(page, 1, logOffset), unpack('>d', argument, 9), plan)
        newCells = newCells or {}
        newCells[i] = cells
      end
      local writer, spareCount, headerKind = 0, 0, 0
      if hasLog and #page >= logOffset + LOG_HEADER + 12 then -- with one cursor and one unit
        writer, spareCount = unpack('>I4I4', page, logOffset + 1)
        headerKind = byte(page, logOffset + LOG_HEADER)
      end
      if writer ~= 0 and spareCount == 0 and #page < FIRST_READ
        and headerKind > PLAIN_HEADER and headerKind <= SHARED_HEADER
      then
        local log = logOffset > 0 and sub(page, logOffset + 1) or page
        log, returned = withoutUnitsOfShortLog(log, headerKind - PLAIN_HEADER, unpack('>d', argument), units)
        if log then newValues[i] = logOffset > 0 and (cells or sub(page, 1, logOffset)) .. log or log end
      elseif headerKind > 0 then
        if not openLog then openLog, findUnits, withoutUnits, writeInPlace, newHeader = logFunctions() end
        local log = openLog(key, page, logOffset)
        if log then
          local low, after, newest = findUnits(log, unpack('>d', argument), units)
          returned = after - low
          if not newest then -- the log has no other units
            newValues[i] = logOffset > 0 and (cells or sub(page, 1, logOffset)) or ''
          elseif returned > 0 then
            local firstUnit, unitCount, body = withoutUnits(log, low, after, 0, '', true)
            local header = newHeader(log, unitCount, newest, firstUnit, log.cursorOwner)
            if type(body) == 'string' then
              newValues[i] = (cells or sub(page, 1, logOffset)) .. header .. body
            else
              editedLogs = editedLogs or {}
              editedLogs[i] = { cells and 0 or logOffset, (cells or '') .. header, log, body }
            end
          end
        end
      end
      if most and most > returned then returned = most end
    end
  end
  returnedTotal = returnedTotal + returned
end
for i = 1, #KEYS do
  local editedLog = editedLogs and editedLogs[i]
  if newValues[i] == '' then
    call('DEL', KEYS[i])
  elseif newValues[i] then
    call('SET', KEYS[i], newValues[i], 'KEEPTTL')
  elseif editedLog then
    call('SETRANGE', KEYS[i], editedLog[1], editedLog[2])
    writeInPlace(editedLog[3], editedLog[4])
  elseif newCells and newCells[i] then
    call('SETRANGE', KEYS[i], '0', newCells[i])
  end
end
return returnedTotal
