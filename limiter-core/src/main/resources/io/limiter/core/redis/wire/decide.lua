-- SPDX-License-Identifier: Apache-2.0
--
-- Decides one call: all rules of all its keys, all or nothing. Redis does not roll a script back, so the script reads
-- everything, then decides, then writes. A key of another type, a command that the Redis user may not run, and bytes
-- that are no log are found before the first write. If memory is short, Redis rejects the first write or none.
--
-- KEYS[i]       the state of one subject under one limit: the log of its units, which all rules that read a log share
--               (log.lua), and cells, the numbers of each other rule and of a ban (cells.lua)
-- ARGV[2i - 1]  the plan:
--                 1 B   mode (PEEK, ACQUIRE, RECORD, OBSERVE)
--                 2 I4  cost
--                 6 B   16 times the number of rules that read the log, plus the number of cells
--                 7 I4  fingerprint of the value that these rules write
--                11 I4  fingerprint of their log
--                15 I2  length of their cells
--               With a log: for each rule, longest window first, count and window (d, d); then the header of an empty
--               log. With cells: the cells, fully replenished; then for each cell its algorithm (B) and parameters
-- ARGV[2i]      time to live of the key in ms. It is text, because Redis would format a number for every command
--
-- Then follow groups of units that another store took while this one was away, the oldest first. The mode byte of the
-- first plan is greater by four times the number of groups. The script records them before it decides the call,
-- whatever it decides. For each group:
-- KEYS          the state of the subject; the marker, which counts the units of the group that were recorded before
-- ARGV          the plan, with mode RECORD; time to live of both keys; age of the units in microseconds, as text
--
-- A value is a log, or cells, or cells followed by a log. Both are big-endian and begin alike; d is a double. Times are
-- microseconds. Every number is below 2^53. Lua never formats a time, because it would lose digits.
--    1 I4  fingerprint of the rules that wrote the value; 0 for cells of several stacks
--    5 I4  below 2^31: a log. Else cells: 2^31, plus 16 times the seconds for which they are needed, plus their number
--    9 d   time of the newest unit of a log with spare room, or of the last write of cells
--   17 d   shift: that time is Redis' clock + shift. It grows when the clock is set back
-- The rules of a limit may change, or differ between methods that share the limit. A log that a call has no rules for
-- stays as it is while it may be needed. So do cells of other rules (foreign.lua).
--
-- A key lives for a sixteenth longer than it is needed, and GRACE. So time is divided into sixteenths of that need, and
-- only the first write in each sets the time to live; the others keep it (KEEPTTL), which costs Redis much less. This
-- needs values that rules with the same time to live wrote: it follows from the fingerprint.
--
-- Returns for each key its status (1 byte), then the report of log.lua, then that of cells.lua. The status is the
-- decision about this charge. The caller does not decide again.
--
-- decide-batch.lua includes the two sections between "begin" and "end", so that it decides each of its calls alike.
--
-- Defined by the included constants:
-- luacheck: read globals ACQUIRE PLAN_HEADER CELLS_HEADER CELLS_MARK MAX_CELL_BYTES SHORTEST_VALUE

--%begin preamble
local call, struct = redis.call, struct
local pack, unpack, byte, sub = struct.pack, struct.unpack, string.byte, string.sub
local KEYS, ARGV = KEYS, ARGV
local redisTime = call('TIME')
local clock = redisTime[1] * 1000000 + redisTime[2]
--%constants
local GRACE = 1000000 -- microseconds for which a key outlives the need for it; tests replace it
-- A status: the charge admits the call, one of its rules denies it, or its ban denies it. For a charge that is only
-- observed, the status is what its rules would do.
local ADMITTED, LIMITED, BANNED = 'A', 'L', 'B'
--%end preamble
local groupCount = byte(ARGV[1])
groupCount = (groupCount - groupCount % 4) / 4
local reply

for group = groupCount, 0, -1 do -- 0 is the call itself
  local keyCount, age, keys, arguments = #KEYS - 2 * groupCount, 0, KEYS, ARGV
  local marker, groupUnits
  if group > 0 then
    local keyOffset, argumentOffset = keyCount + 2 * (groupCount - group), 2 * keyCount + 3 * (groupCount - group)
    local plan = ARGV[argumentOffset + 1]
    marker, groupUnits = KEYS[keyOffset + 2], unpack('>I4', plan, 2)
    local recorded = tonumber(call('GET', marker) or '0') or groupUnits
    keyCount, age = groupUnits > recorded and 1 or 0, tonumber(ARGV[argumentOffset + 3])
    keys = { KEYS[keyOffset + 1] }
    arguments = {
      sub(plan, 1, 1) .. pack('>I4', math.max(0, groupUnits - recorded)) .. sub(plan, 6), ARGV[argumentOffset + 2],
    }
  end
  --%begin decision
  local admitted, corruptKey = true
  -- For each key: the value if the call is admitted (firstWrite if there is only one key); the second write of a value
  -- that is written in place; a time to live that differs from the plan's; the time to live that the key has, if a
  -- part of other rules stays; whether it is kept; shifts by offset, and the cells, that are written if the call is
  -- denied.
  local firstWrite, patches, ttls, presentTtls, keptTtls, shiftRepairs, deniedWrites
  local writes = keyCount > 1 and {}

  for i = 1, keyCount do
    local key, plan = keys[i], arguments[2 * i - 1]
    local mode, cost, partCounts, fingerprint, logFingerprint, cellsLength = unpack('>BI4BI4I4I2', plan)
    mode = mode % 4
    local cellCount, planPos = partCounts % 16, PLAN_HEADER + 1
    local logRules = (partCounts - cellCount) / 16
    local denied, banned = false, false -- by a rule of this key, and by its ban
    local report
    local logOffset = 0 -- length of the stored cells
    local value = call('GETRANGE', key, '0', cellCount > 0 and '2047' or '1023')
    -- The first fields of the value, whichever part it begins with: a log has a number of units in the place of the
    -- mark. The last five are those of a log; with one rule it has a part of a unit in the place of the second cursor.
    local writer, mark, newest, shift, headMaxUnits, headHorizon, headKind, headCursor, headCursor2
    local written, unitBytes, nowBytes, nowBytesTime
    if #value >= SHORTEST_VALUE then -- anything shorter is neither a log nor cells
      if cellCount > 0 then
        writer, mark, newest, shift = unpack('>I4I4dd', value)
      else
        writer, mark, newest, shift, headMaxUnits, headHorizon, headKind, headCursor, headCursor2 =
          unpack('>I4I4ddI4dBI4I4', value)
      end
      if writer == fingerprint then
        logOffset = cellsLength
      elseif mark >= CELLS_MARK then -- cells of other rules
        logOffset = CELLS_HEADER + 5 * (mark % 16)
        for c = 1, mark % 16 do logOffset = logOffset + 8 * (byte(value, 24 + 5 * c) or 255) end
      end
      if logOffset > #value or logOffset > MAX_CELL_BYTES then writer, value, logOffset = nil, '', 0 end
    end
    -- The common case of a log; then the others.
    if cellCount == 0 and logRules <= 2 and mode == ACQUIRE
      and (writer == fingerprint and mark == 0 or value == '')
    then
      --%quick-log
    end
    if not report then
      -- A denied call leaves cells of other rules as they are.
      local hasForeignCells = logOffset > 0 and writer ~= fingerprint
      -- Length of the cells that are written; this stack's own cells, if the value is of other rules; the others.
      local newCellsLength, ownCells, foreign = cellsLength
      if cellCount > 0 and writer ~= fingerprint then
        --%foreign
      end

      if logRules > 0 then
        --%log
      end
      if cellCount > 0 then
        --%cells
      end
    end
    if writes then writes[i] = written else firstWrite = written end
    reply = i > 1 and reply .. report or report
  end

  if corruptKey then -- not written by these scripts: it would deny or admit for ever
    call('DEL', corruptKey)
    if group == 0 then return redis.error_reply('ERR what lay under a key was no log, and was removed') end
  elseif admitted and (firstWrite or writes) or deniedWrites or shiftRepairs then
    for i = 1, keyCount do
      -- A denied call writes only this: a violation or the start of a ban; that time has started for a bucket that was
      -- not full at first; and the new shifts. Without them, a log whose clock was set back by an hour would deny for
      -- an hour.
      local deniedWrite, shiftRepair = deniedWrites and deniedWrites[i], shiftRepairs and shiftRepairs[i]
      local newValue = deniedWrite or admitted and (writes and writes[i] or firstWrite)
      if shiftRepair or newValue then
        local ttl = ttls and ttls[i] or arguments[2 * i]
        -- State of other rules lives as long as they set.
        if presentTtls and presentTtls[i] then ttl = string.format('%.0f', math.max(ttl, presentTtls[i])) end
        local patch = patches and patches[i]
        if newValue and keptTtls and keptTtls[i] then
          call('SET', keys[i], newValue, 'KEEPTTL')
        elseif newValue and not patch then
          call('SET', keys[i], newValue, 'PX', ttl)
        elseif newValue then
          call('SETRANGE', keys[i], '0', newValue)
          if patch[1] then call('SETRANGE', keys[i], patch[1], patch[2]) end
          call('PEXPIRE', keys[i], ttl)
        end
        if shiftRepair and (deniedWrite or not newValue) then
          for offset, newShift in pairs(shiftRepair) do
            call('SETRANGE', keys[i], offset, pack('>d', newShift))
          end
          call('PEXPIRE', keys[i], ttl)
        end
      end
    end
    if marker and keyCount > 0 then call('SET', marker, groupUnits, 'PX', arguments[2]) end
  end
  --%end decision
end
return reply
