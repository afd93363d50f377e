-- SPDX-License-Identifier: Apache-2.0
--
-- Gives back the units that one decision took. decide.lua describes what is stored under a key.
--
-- KEYS[i]  the value of one subject
-- ARGV[i]  time of the units (d): the time that decide.lua reported; their stamp in a log (d): the same, or later
--          because of a lease or a renewal; for how long the call waits (d, in the leaky bucket's parts); the plan,
--          whose cost is how many units of the log: a recorded call took fewer if the log keeps fewer; then for each
--          cell how many units it gets back and how many the call took from it (I4, I4). A recorded call took at most
--          the units that were left, so the number may differ between cells
--
-- Returns how many units were found. Units that have left the log are past every window: there is nothing to give back.
-- The same holds for tokens that have come back to a bucket, which are not given back twice. A call that waits in a
-- leaky bucket gives up its departure. Once the departure has come, there is nothing to give back.
--
-- renew.lua includes the section "units".
--
-- Defined by the included parts:
-- luacheck: read globals TOKEN_BUCKET INTERVAL_BUCKET FIXED_WINDOW ALIGNED_WINDOW CALENDAR_WINDOW ANCHORED_WINDOW
-- luacheck: read globals SLIDING_COUNTER LEAKY_BUCKET EXACT HEAD LOG_HEAD PLAN_HEADER LONGEST_LEASE

local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
local KEYS, ARGV = KEYS, ARGV
--%constants
--%begin units
-- Everything is read before anything is written, because Redis does not roll back a script that meets a key of another
-- type. For each key: what replaces the head, none if the key is deleted; what replaces the units, or nil; or the bytes
-- that are moved: from, to, how many.
local returnedTotal, writes = 0, {}
for i = 1, #KEYS do
  local key, plan, takenAt, stamp, partsWaited = KEYS[i], sub(ARGV[i], 25), unpack('>ddd', ARGV[i])
  local _, cost, partCounts, _, headLength = unpack('>BI4BBI2', plan)
  local cellCount = partCounts % 16
  local logRules = (partCounts - cellCount) / 16
  local cellsAt = logRules > 0 and LOG_HEAD + 4 * logRules or HEAD
  local value = call('GETRANGE', key, '0', cellCount > 0 and '2047' or '1023')
  local time, newest, shift, returned = 0, 0, 0, 0
  if #value >= headLength and (logRules > 0 or #value == headLength) then
    time, newest, shift = unpack('>ddd', value)
  end
  if time > 0 and time < EXACT then
    local newestBytes, logHead = sub(value, 9, 16), sub(value, HEAD + 1, cellsAt)
    local cells = sub(value, cellsAt + 1, headLength)
    local rest, movedFrom, movedTo, movedBytes
    if cellCount > 0 and unpack('>d', cells) <= takenAt then -- else all was reset in the meantime
      local instant = call('TIME')
      local now = math.max(instant[1] * 1000000 + instant[2] + shift, time)
      local planPos, unitsPos = PLAN_HEADER + 1 + (logRules > 0 and 16 * logRules + 4 or 0), #plan - 8 * cellCount + 1
      local cellPos = cellsAt + 9
      cells = sub(cells, 1, 8)
      for _ = 1, cellCount do
        local algorithm, size, codeLength = unpack('>BBB', plan, planPos)
        local units, unitsTaken = unpack('>I4I4', plan, unitsPos)
        local newCell
        if units > 0 then -- else the cell gets nothing back, like that of the ban
          local first, second = unpack('>dd', value, cellPos)
          -- Each algorithm has a file of its own, whose section "give-back" sets newCell if anything is given back.
          if algorithm == TOKEN_BUCKET or algorithm == INTERVAL_BUCKET then
            --%token-bucket.give-back
          elseif algorithm == FIXED_WINDOW or algorithm == ALIGNED_WINDOW or algorithm == CALENDAR_WINDOW
            or algorithm == ANCHORED_WINDOW
          then
            --%fixed-window.give-back
          elseif algorithm == SLIDING_COUNTER then
            --%sliding-counter.give-back
          elseif algorithm == LEAKY_BUCKET then
            --%leaky-bucket.give-back
          end
        end
        if newCell then returned = math.max(returned, units) end
        cells = cells .. (newCell or sub(value, cellPos, cellPos + 8 * size - 1))
        planPos, cellPos, unitsPos = planPos + codeLength, cellPos + 8 * size, unitsPos + 8
      end
    end
    if logRules > 0 and #value >= headLength + 8 and newest >= 0 and newest <= time + LONGEST_LEASE then
      --%log.give-back
    end
    returnedTotal = returnedTotal + returned
    if rest == '' and cellCount == 0 then
      writes[i] = {}
    elseif returned > 0 then
      local head = sub(value, 1, 8) .. newestBytes .. sub(value, 17, HEAD) .. logHead .. cells
      writes[i] = { head, rest, movedFrom, movedTo, movedBytes }
    end
  end
end
for i, key in ipairs(KEYS) do
  local write = writes[i]
  if write and not write[1] then
    call('DEL', key)
  elseif write and write[2] then
    call('SET', key, write[1] .. write[2], 'KEEPTTL')
  elseif write then
    call('SETRANGE', key, '0', write[1])
    local from, to, length = write[3], write[4], write[5] or 0
    -- A few bytes at a time: for a long string, Lua would first have to allocate memory.
    for done = 0, length - 1, 8192 do
      local part = math.min(8192, length - done)
      local at = from < to and length - done - part or done
      call('SETRANGE', key, to + at, call('GETRANGE', key, from + at, from + at + part - 1))
    end
  end
end
--%end units
return returnedTotal
