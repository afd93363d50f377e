-- SPDX-License-Identifier: Apache-2.0
--
-- Gives back the units that one decision took. decide.lua describes what is stored under a key.
--
-- KEYS[i]       the value of one subject
-- ARGV[2i - 1]  time of the units (d): the time that decide.lua reported; their stamp in a log (d): the same, or later
--               because of a lease; for how long the call waits (d, in the leaky bucket's parts); the plan; then for
--               each cell how many units it gets back and how many the call took from it (I4, I4). A recorded call
--               took at most the units that were left, so the number may differ between cells
-- ARGV[2i]      how many units of the log, as text. A recorded call took fewer if the log keeps fewer
--
-- Returns how many units were found. Units that have left the log are past every window: there is nothing to give back.
-- The same holds for tokens that have come back to a bucket, which are not given back twice. A call that waits in a
-- leaky bucket gives up its departure. Once the departure has come, there is nothing to give back.
--
-- Defined by the included parts:
-- luacheck: read globals EXACT HEAD LOG_HEAD PLAN_HEADER openLog findUnits withoutUnits writeInPlace

local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
--%constants
--%units.repeat
--%units.edit

-- The numbers of the cells without these units, nil if no cell counts the units any more; and the most units that a
-- cell gave back.
local function withoutUnitsOfCells(value, cellsAt, plan, takenAt, partsWaited) -- luacheck: ignore 212/partsWaited
  local _, _, partCounts = unpack('>BI4BBI2', plan)
  local cellCount, logRules = partCounts % 16, math.floor(partCounts / 16)
  local time, _, shift = unpack('>ddd', value)
  local born = unpack('>d', value, cellsAt + 1)
  if not (time > 0 and time < EXACT and born <= takenAt) then return nil, 0 end -- all was reset in the meantime
  local redisTime = call('TIME')
  local now = math.max(redisTime[1] * 1000000 + redisTime[2] + shift, time)
  local planPos, cellPos, unitsPos = PLAN_HEADER + 1 + (logRules > 0 and 16 * logRules + 4 or 0), cellsAt + 9,
    #plan - 8 * cellCount + 1
  local numbers, most = '', 0
  for _ = 1, cellCount do
    local algorithm, size, codeLength = unpack('>BBB', plan, planPos)
    local units, unitsTaken = unpack('>I4I4', plan, unitsPos)
    local newCell
    if units > 0 then -- else the cell gets nothing back, like that of the ban
      local first, second = unpack('>dd', value, cellPos)
      -- Each algorithm has a file of its own, whose section "give-back" sets newCell if anything is given back.
      --%each give-back
    end
    if newCell then most = math.max(most, units) end
    numbers = numbers .. (newCell or sub(value, cellPos, cellPos + 8 * size - 1))
    planPos, cellPos, unitsPos = planPos + codeLength, cellPos + 8 * size, unitsPos + 8
  end
  return most > 0 and numbers or nil, most
end

-- Everything is read before anything is written, because Redis does not roll back a script that meets a key of another
-- type. For each key: what replaces its first bytes, and the units that follow: a string, or nil if they stay; or the
-- steps by which they are changed in place; '' if the key is deleted.
local returnedTotal, writes = 0, {}
for i = 1, #KEYS do
  local key, takenAt, stamp, partsWaited = KEYS[i], unpack('>ddd', ARGV[2 * i - 1])
  local plan, units = sub(ARGV[2 * i - 1], 25), tonumber(ARGV[2 * i])
  local _, _, partCounts, _, headLength = unpack('>BI4BBI2', plan)
  local cellCount, logRules = partCounts % 16, math.floor(partCounts / 16)
  local cellsAt = logRules > 0 and LOG_HEAD + 4 * logRules or HEAD
  local value = call('GETRANGE', key, '0', cellCount > 0 and '2047' or '1023')
  local returned = 0
  if #value >= headLength and (logRules > 0 or #value == headLength) then
    local newestBytes, logHead, body, hasChanged = sub(value, 9, 16), sub(value, HEAD + 1, cellsAt), nil, false
    local cellBytes = sub(value, cellsAt + 1, headLength)
    if cellCount > 0 then
      local numbers, most = withoutUnitsOfCells(value, cellsAt, plan, takenAt, partsWaited)
      if numbers then cellBytes, hasChanged = sub(cellBytes, 1, 8) .. numbers, true end
      returned = most
    end
    local log = openLog(key, value, plan)
    if log then
      local low, after = findUnits(log, stamp, units)
      returned = math.max(returned, after - low)
      if after > low then
        local newest, changedHead, changedBody = withoutUnits(log, low, after, log.firstUnit, 0, log.unitCount)
        newestBytes, body, hasChanged = pack('>d', newest), changedBody, true
        logHead = changedHead or string.rep('\0', cellsAt - HEAD)
      end
    end
    if body == '' and cellCount == 0 then
      writes[i] = ''
    elseif hasChanged then
      writes[i] = { sub(value, 1, 8) .. newestBytes .. sub(value, 17, HEAD) .. logHead .. cellBytes, body }
    end
  end
  returnedTotal = returnedTotal + returned
end
for i = 1, #KEYS do
  local key, write = KEYS[i], writes[i]
  if write == '' then
    call('DEL', key)
  elseif write and type(write[2]) == 'string' then
    call('SET', key, write[1] .. write[2], 'KEEPTTL')
  elseif write then
    call('SETRANGE', key, '0', write[1])
    if write[2] then writeInPlace(key, write[2]) end
  end
end
return returnedTotal
