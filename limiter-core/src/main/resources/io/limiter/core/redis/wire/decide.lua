-- SPDX-License-Identifier: Apache-2.0
--
-- Decides one call: all rules of all its keys, all or nothing. Redis does not roll a script back, so the script reads
-- everything, then decides, then writes. A key of another type, a command that the Redis user may not run, and bytes
-- that are no value are found before the first write. If memory is short, Redis rejects the first write or none.
--
-- KEYS          for each charge the value of one subject under one limit. Its name contains the shape of the rules, so
--               that only rules of that shape read and write it. Then, if the plan has a ban, the ban of the subject
-- ARGV[2i - 1]  the plan of a charge:
--                 1 B   mode (PEEK, ACQUIRE, LEASE, RECORD, OBSERVE)
--                 2 I4  cost
--                 6 B   16 times the number of rules that read the log, plus the number of cells
--                 7 B   BESIDE if there is a ban; ALONE if there is nothing else, not even a value (ban.lua)
--                 8 I2  length of the head of the value
--                10 d   for how many microseconds the value is needed after a write, if calls cost 1
--               With a log: for each rule, longest window first, count and window (d, d); then the most units that the
--               rules need (I4). For each cell its algorithm, how many numbers it has, and the length of this code
--               (B, B, B), then parameters (d). With a ban: its parameters (ban.lua). Last, the head of a value
--               without units: zeros
-- ARGV[2i]      time to live of the value in ms, if it is needed for no longer than the plan says. It is text, because
--               Redis would format a number for every command
-- ARGV[2n + 1]  only to record units that another store took: their age in microseconds, as text. To take units in
--               advance (LEASE): the negative time in which they may be spent. A unit is stamped with the end of that
--               time, so that it counts until a whole window after it was spent (docs/internals/leases.md)
--
-- A value is a head and the units of the log. It is big-endian; d is a double. Times are microseconds. Every number is
-- below 2^53. Lua never formats a time, because it would lose digits.
--    1 d   time of the last write
--    9 d   the newest unit of a log, which may be one of a lease that has not ended; 0 if there is none
--   17 d   shift: a time in the value is Redis' clock + shift. It grows when the clock is set back
--   25 d   Redis' clock until which the key lives at least
--   With a log (log.lua):
--   33 I4  the number of units of a log with spare room; 0 if the units fill the value to its end
--   37 I4  for each rule its cursor: the index of its first unit that is still inside the window
--   With cells (cells.lua):
--   .. d   time of the first write: units that were taken before are not in the cells
--   .. d   the numbers of each cell
--   Then the units (d), oldest first.
-- A cell or a log that was never used is zeros.
--
-- A key lives for a sixteenth longer than it is needed, and a second. So only a write after that sixteenth has passed
-- sets the time to live; the others keep it, which costs Redis much less. No write shortens it.
--
-- Returns for each charge its status (1 byte) and the time of the decision (d), then the reports of log.lua, cells.lua
-- and ban.lua. The status is the decision about this charge. The caller does not decide again.
--
-- decide-batch.lua and renew.lua include the two sections between "begin" and "end".
--
-- Defined by the included constants:
-- luacheck: read globals EXACT PEEK ACQUIRE PLAN_HEADER BESIDE ALONE HEAD LOG_HEAD LONGEST_LIFE

--%begin preamble
local unpackTable, call, struct = unpack, redis.call, struct
local pack, unpack, sub = struct.pack, struct.unpack, string.sub
local KEYS, ARGV = KEYS, ARGV
local redisTime = call('TIME')
local clock = redisTime[1] * 1000000 + redisTime[2]
--%constants
-- A status: the charge admits the call, one of its rules denies it, or its ban denies it. For a charge that is only
-- observed, the status is what its rules would do.
local ADMITTED, LIMITED, BANNED = 'A', 'L', 'B'
--%end preamble
local reply
local charges, keys, keyOffset, arguments, age = #ARGV / 2, KEYS, 0, ARGV, 0
if charges % 1 > 0 then charges, age = charges - 0.5, tonumber(ARGV[#ARGV]) end
--%begin decision
local admitted, corruptKey, keyIndex = true, nil, keyOffset
-- What is written for a charge, once all have been read. If the call is admitted: the time, the new head behind it, the
-- units that stay, those of this call, and spare room; or the head and the new units, at unitsOffset. If it is denied:
-- only the head, if anything has changed. And the ban (ban.lua).
local key, nowBytes, head, keptUnits, newUnits, spare, unitsOffset, deniedHead, isNew, keepsTtl, ttl
local banKey, banBytes, banTtl
local pending = charges > 1 and {} -- that of each charge but the last

for i = 1, charges do
  keyIndex = keyIndex + 1
  local plan = arguments[2 * i - 1]
  -- The last four are those of the first two rules of a log. A plan without a log has other bytes there.
  local mode, cost, partCounts, banPlace, headLength, memory, firstCount, firstWindow, secondCount, secondWindow =
    unpack('>BI4BBI2ddddd', plan)
  local cellCount, planPos = partCounts % 16, PLAN_HEADER + 1
  local logRules = (partCounts - cellCount) / 16
  local denied, report = false -- by a rule of this charge
  -- How long the value is needed, and its time to live: longer than the plan says if a rule has a debt.
  local need = memory
  local value, isBanned, since, violations, banEnd, level
  key, ttl, isNew, keepsTtl = keys[keyIndex], arguments[2 * i], false, false
  head, keptUnits, newUnits, spare, unitsOffset, deniedHead = nil, '', '', '', nil, nil
  banKey, banBytes, banTtl = nil, nil, nil

  if banPlace > 0 then
    if banPlace == BESIDE then keyIndex = keyIndex + 1 end
    banKey = keys[keyIndex]
    --%ban.begin
  end
  if banPlace ~= ALONE then
    value = call('GETRANGE', key, '0', cellCount > 0 and '2047' or '1023')
    local time, newest, shift, expires, unitCount, cursor, secondCursor = 0, 0, 0, 0, 0, 0, 0
    local now, isBehind = clock, false
    if logRules > 0 and #value >= headLength + (cellCount > 0 and 0 or 8) then
      -- With one rule it has other bytes in the place of the second cursor.
      time, newest, shift, expires, unitCount, cursor, secondCursor = unpack('>ddddI4I4I4', value)
    elseif logRules == 0 and #value == headLength then
      time, newest, shift, expires = unpack('>dddd', value)
    end
    if time > 0 and time < EXACT and time % 1 == 0 and clock + shift > 0 and clock + shift < EXACT then
      now, isBehind = clock + shift, clock + shift < time
      keepsTtl = not isBehind and expires - clock > need and expires - clock <= LONGEST_LIFE
      if isBehind then -- Redis' clock was set back: the time of the value continues from its last write
        shift, now = time - clock, time
      end
    else -- nothing, or bytes that are no value of these rules
      value, isNew = sub(plan, -headLength), true
      time, newest, shift, unitCount, cursor, secondCursor = 0, 0, 0, 0, 0, 0
    end
    if age > 0 then now = math.max(now - age, time) end

    nowBytes = pack('>d', now)
    -- The common case of a log; then the others.
    if cellCount == 0 and logRules <= 2 and mode == ACQUIRE and unitCount == 0 and not isBehind then
      --%log.quick
    end
    if not report then
      -- Behind the fixed part of the head: the log's, of an admitted call; the cells' numbers, of an admitted and of a
      -- denied one. `cellsAt` is the offset of the cells.
      local logHead, newestBytes, newNumbers, deniedNumbers
      local cellsAt = logRules > 0 and LOG_HEAD + 4 * logRules or HEAD
      if logRules > 0 then
        --%log.any
      end
      if cellCount > 0 then
        --%cells
      end
      if mode ~= PEEK and not corruptKey then
        keepsTtl = keepsTtl and expires - clock > need
        if not keepsTtl then expires = clock + need + math.floor(need / 16) end
        if need > memory then ttl = string.format('%.0f', math.ceil(need * 17 / 16000) + 1000) end
        if keepsTtl and not logHead and not deniedNumbers then -- but for its time the head stays as it is
          if admitted and not denied then head = sub(value, 9, cellsAt + 8) .. newNumbers end
        else
          local lasting = keepsTtl and sub(value, 17, HEAD) or pack('>dd', shift, expires)
          local born = cellCount > 0 and (isNew and nowBytes or sub(value, cellsAt + 1, cellsAt + 8)) or ''
          if deniedNumbers then
            deniedHead = nowBytes .. sub(value, 9, 16) .. lasting .. sub(value, HEAD + 1, cellsAt) .. born
              .. deniedNumbers
          elseif isBehind then -- else a log whose clock was set back by an hour would deny for an hour
            deniedHead = sub(value, 1, 16) .. lasting
          end
          if admitted and not denied then
            head = (newestBytes or sub(value, 9, 16)) .. lasting .. (logHead or '') .. born
              .. (newNumbers or '')
          end
        end
      end
    end
  end
  if banPlace > 0 then
    --%ban.end
  end
  reply = i > 1 and reply .. report or report
  if i < charges then
    pending[i] = { key, nowBytes, head, keptUnits, newUnits, spare, unitsOffset, deniedHead, isNew, keepsTtl, ttl,
      banKey, banBytes, banTtl }
  end
end

if corruptKey then -- not written by these scripts: it would deny or admit for ever
  call('DEL', corruptKey)
  return redis.error_reply('ERR corrupt value deleted')
end
for i = charges, 1, -1 do
  if i < charges then
    key, nowBytes, head, keptUnits, newUnits, spare, unitsOffset, deniedHead, isNew, keepsTtl, ttl,
      banKey, banBytes, banTtl = unpackTable(pending[i], 1, 14)
  end
  -- A denied call writes only the head, if anything of it has changed: the cells, if time has started for a bucket that
  -- was not full at first; or the shift.
  if admitted and head and unitsOffset then
    call('SETRANGE', key, '0', nowBytes .. head)
    call('SETRANGE', key, unitsOffset, newUnits)
    if not keepsTtl then call('PEXPIRE', key, ttl) end
  elseif admitted and head and keepsTtl then
    call('SET', key, nowBytes .. head .. keptUnits .. newUnits .. spare, 'KEEPTTL')
  elseif admitted and head then
    call('SET', key, nowBytes .. head .. keptUnits .. newUnits .. spare, 'PX', ttl)
  elseif deniedHead and isNew then
    call('SET', key, deniedHead, 'PX', ttl)
  elseif deniedHead then
    call('SETRANGE', key, '0', deniedHead)
    if not keepsTtl then call('PEXPIRE', key, ttl) end
  end
  if banBytes then call('SET', banKey, banBytes, 'PX', banTtl) end
end
--%end decision
return reply
