-- SPDX-License-Identifier: Apache-2.0
-- Reads cells that other rules wrote, if any. A cell with the fingerprint of a rule of this stack belongs to that rule.
-- A rule without one starts from a cell of its kind with other parameters, the one that is needed for about as long
-- (converted.lua). Cells of other rules stay while they may be needed, as far as there is room: first a ban, then the
-- others in their order, which is that of the last write.
--
-- Constants, functions and variables of the script:
-- luacheck: read globals EXACT MAX_WINDOW PLAN_HEADER LOG_HEADER SECONDS_LIMIT MAX_CELLS MAX_CELL_BYTES
-- luacheck: read globals BAN BAN_SIZE DESCRIPTION
-- luacheck: read globals pack unpack byte sub clock
-- Of this key:
-- luacheck: read globals plan value mark logOffset cellCount logRules cellsLength
-- Results:
--   newest, shift   of the stored cells; 0 if there are none
--   ownCells        the cells of this stack, laid out as if it had written them
--   foreign         the cells of other rules that stay: their headers, numbers and descriptions, how many they are, and
--                   the seconds for which they are needed; nil if there are none
--   newCellsLength  length of all
-- luacheck: globals newest shift ownCells foreign newCellsLength
local planCells = PLAN_HEADER + 1 + (logRules > 0 and 20 * logRules + LOG_HEADER or 0)
local stored, time, createdAt = {}, clock + (shift or 0)
if logOffset > 0 and time >= 0 and time < EXACT and newest < EXACT then
  time = math.max(time, newest)
  local storedPos, descriptionPos = 25 + 5 * (mark % 16), 0
  local seconds = math.floor(mark / 16) - SECONDS_LIMIT
  for c = 1, mark % 16 do
    local fingerprintOfCell, size = unpack('>I4B', value, 20 + 5 * c)
    if fingerprintOfCell == DESCRIPTION then
      descriptionPos = c == 1 and size == mark % 16 and storedPos or 0
    else
      stored[#stored + 1] = { header = sub(value, 20 + 5 * c, 24 + 5 * c), pos = storedPos, size = size,
        fingerprint = fingerprintOfCell, description = string.rep('\0', 8), kind = 0, seconds = seconds }
    end
    storedPos = storedPos + 8 * size
  end
  createdAt = descriptionPos > 0 and unpack('>d', value, descriptionPos) or 0
  for c, cell in ipairs(descriptionPos > 0 and stored or {}) do
    cell.description = sub(value, descriptionPos + 8 * c, descriptionPos + 8 * c + 7)
    cell.kind, cell.memory, cell.scale = unpack('>BBI6', cell.description)
    cell.seconds = math.min(2 ^ cell.memory, SECONDS_LIMIT)
  end
else
  newest, shift, time, createdAt = 0, 0, clock, -1 -- no cells are stored
end

-- For each own cell the stored one; how many numbers all cells have, with the description.
local storedOwn, numberCount = {}, 1 + cellCount
for c = 1, cellCount do
  local header = sub(plan, planCells + 24 + 5 * c, planCells + 28 + 5 * c)
  numberCount = numberCount + byte(header, 5)
  for _, cell in ipairs(stored) do
    if not cell.used and cell.header == header then
      cell.used, storedOwn[c] = true, cell
      break
    end
  end
end

local planDescriptions = planCells + 37 + 5 * cellCount
local replenishedPos, codePos, numbers = planDescriptions + 8 * cellCount, planCells + cellsLength, ''
for c = 1, cellCount do
  local size, algorithm, source = byte(plan, planCells + 28 + 5 * c), byte(plan, codePos), storedOwn[c]
  local kind, memory = unpack('>BB', plan, planDescriptions + 8 * (c - 1))
  local newCell = sub(plan, replenishedPos, replenishedPos + 8 * size - 1)
  if source then
    newCell = sub(value, source.pos, source.pos + 8 * size - 1)
  elseif kind > 0 then
    for _, cell in ipairs(stored) do
      if not cell.used and not cell.converted and cell.kind == kind
        and not (source and math.abs(source.memory - memory) <= math.abs(cell.memory - memory))
      then
        source = cell
      end
    end
    if source then
      source.converted = true
      --%converted
    end
  end
  numbers, replenishedPos = numbers .. newCell, replenishedPos + 8 * size
  --%next-code
end
ownCells = sub(plan, planCells, planDescriptions - 9) .. pack('>d', createdAt)
  .. sub(plan, planDescriptions, planDescriptions + 8 * cellCount - 1) .. numbers

for _, bans in ipairs({ true, false }) do
  for _, cell in ipairs(stored) do
    local writtenAt = unpack('>d', value, cell.pos)
    local needed = writtenAt >= 0 and writtenAt <= time and writtenAt + cell.seconds * 1000000 - time or 0
    if cell.fingerprint == BAN and cell.size == BAN_SIZE then -- also a ban whose violations no longer count
      local banEnd = unpack('>d', value, cell.pos + 16)
      if banEnd > time and banEnd - time <= MAX_WINDOW then needed = math.max(needed, banEnd - time) end
    end
    local count = foreign and foreign.count or 0
    if not cell.used and needed > 0 and (cell.fingerprint == BAN) == bans and cellCount + count < MAX_CELLS
      and 34 + 5 * (cellCount + count) + 8 * (numberCount + cell.size + 1) <= MAX_CELL_BYTES
    then
      foreign = foreign or { headers = '', numbers = '', descriptions = '', seconds = 0 }
      numberCount, foreign.count = numberCount + cell.size + 1, count + 1
      foreign.headers = foreign.headers .. cell.header
      foreign.numbers = foreign.numbers .. sub(value, cell.pos, cell.pos + 8 * cell.size - 1)
      foreign.descriptions = foreign.descriptions .. cell.description
      foreign.seconds = math.max(foreign.seconds, math.ceil(needed / 1000000))
      newCellsLength = 29 + 5 * (cellCount + foreign.count) + 8 * numberCount
    end
  end
end
