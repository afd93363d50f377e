-- SPDX-License-Identifier: Apache-2.0
--
-- Decides one call: all rules of all its keys, all or nothing. It reads everything, then decides, then writes,
-- because Redis does not roll a script back: a key of another type, a command that the user may not run or bytes that
-- are no log have to come to light before the first write. For want of memory Redis refuses the first write or none.
--
-- KEYS[i]       all that is known of one subject under one limit: the log of the units it took, shared by all rules that
--               read it (log.lua), and cells, the numbers that each of the other rules keeps, and a ban (cells.lua)
-- ARGV[2i - 1]  the plan: mode (1 byte; 0 peek, 1 acquire, 2 record, 3 acquire but refuse nobody), cost (4), 16 times
--               the number of rules that read the log, and the number of cells (1), and the print of what the value
--               begins with where these rules wrote it (4); print of their log (4); length of their cells (2). With a
--               log: for each rule, longest window first, count and window (8 + 8), and the header of an empty log. With
--               cells: the cells as if never used, and for each its algorithm (1) and numbers
-- ARGV[2i]      time to live of the key in ms, as text, because Redis would print a number again for each command
--
-- Behind these may stand units that another store took while this one was away, oldest first; the mode of the first plan
-- is greater by four times their number. They are recorded before the call is decided, and whatever becomes of it. For
-- each:
-- KEYS          what is known of the subject; then a marker: how many of these units scripts have recorded before
-- ARGV          the plan, to record; the time to live, of both; the age of the units in microseconds, as text
--
-- A value is a log, or cells, or cells and behind them a log. Both are big-endian and begin alike; d is a double. Times
-- are microseconds. Everything stays below 2^53, where doubles are exact; no time is ever printed by Lua, which would
-- lose digits.
--    1 I4  print: which rules wrote it; 0 for cells of several stacks
--    5 I4  below 2^31: a log. Else cells: 2^31, and 16 times the seconds for which they are needed, and their number
--    9 d   time of the newest unit of a roomy log, or of the last write of cells
--   17 d   shift: that time is Redis' clock + shift; it grows when the clock is set back
-- The rules of a limit may change, or differ between methods that share it. A log that a call has no rules for stays as it
-- is while it may be needed, and so do cells of other rules (others.lua).
--
-- Returns for each key its status (1 byte), then what log.lua says, then what cells.lua says. The status is what the script
-- decided about this charge, and the caller does not decide it again.

local call, struct = redis.call, struct
local pack, unpack, byte, sub = struct.pack, struct.unpack, string.byte, string.sub
local KEYS, ARGV = KEYS, ARGV
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
--%constants
-- A status: the charge admits the call, a rule of it refuses the call, or its ban does. Of a charge that is only observed
-- it says what its rules would do.
local ADMITTED, LIMITED, BANNED = 'A', 'L', 'B'
local past = math.floor(byte(ARGV[1]) / 4)
local answer

for turn = past, 0, -1 do -- the last is the call's own
  local count, age, KEYS, ARGV = #KEYS - 2 * past, 0, KEYS, ARGV
  local marker, units
  if turn > 0 then
    local k, a = count + 2 * (past - turn), 2 * count + 3 * (past - turn)
    local plan = ARGV[a + 1]
    marker, units = KEYS[k + 2], unpack('>I4', plan, 2)
    local before = tonumber(call('GET', marker) or '0') or units
    count, age = units > before and 1 or 0, tonumber(ARGV[a + 3])
    KEYS, ARGV = { KEYS[k + 1] }, { sub(plan, 1, 1) .. pack('>I4', math.max(0, units - before)) .. sub(plan, 6), ARGV[a + 2] }
  end
  local allowed, broken = true
  -- For each key: what it holds if the call is admitted, or, of one key only, write; those that are written in place; times
  -- to live that differ; the time to live that there is, where other rules' part stays; what is written if the call is
  -- refused: shifts, and all of a part.
  local write, patches, lives, keeps, repairs, refusals
  local writes = count > 1 and {}

  for i = 1, count do
    local key, plan = KEYS[i], ARGV[2 * i - 1]
    local mode, cost, size, print, logPrint, length = unpack('>BI4BI4I4I2', plan)
    mode = mode % 4
    local cells, p = size % 16, 17
    local rules = (size - cells) / 16
    local refused, banned = false, false -- by a rule of this key, and by its ban
    local reply
    local base = 0 -- length of the cells that there are
    local value = call('GETRANGE', key, '0', cells > 0 and '2047' or '1023')
    local stored, n, newest, shift, keep, horizon, others, low -- of what the value begins with
    local written, units, stamped, takenAt
    if #value >= 45 then -- else there is nothing, or something too short to be anything
      if cells > 0 then
        stored, n, newest, shift = unpack('>I4I4dd', value)
      else
        stored, n, newest, shift, keep, horizon, others, low = unpack('>I4I4ddI4dBI4', value)
      end
      if stored == print then
        base = length
      elseif n >= CELLS then -- cells of other rules
        base = 24 + 5 * (n % 16)
        for c = 1, n % 16 do base = base + 8 * (byte(value, 24 + 5 * c) or 255) end
      end
      if base > #value or base > MOST_BYTES then stored, value, base = nil, '', 0 end
    end
    local foreign = base > 0 and stored ~= print -- cells of other rules, which a refused call leaves as they are
    local span, mine, beside = length -- of the cells that are written; own cells among others; those others
    if cells > 0 and stored ~= print then
      --%others
    end

    if rules > 0 then
      --%log
    end
    if cells > 0 then
      --%cells
    end
    if writes then writes[i] = written else write = written end
    local status = banned and BANNED or refused and LIMITED or ADMITTED
    answer = i > 1 and answer .. status .. reply or status .. reply
  end

  if broken then -- written by something else: it would deny, or admit, for ever
    call('DEL', broken)
    if turn == 0 then return redis.error_reply('ERR what lay under a key was no log, and was removed') end
  elseif allowed and (write or writes) or refusals or repairs then
    for i = 1, count do
      -- All that a charge writes that is refused, or refuses: that a ban comes nearer; that time has begun for a bucket
      -- that was not full at first; and the new shifts, without which a log whose clock was set back by an hour would deny
      -- for an hour.
      local refusal, repair = refusals and refusals[i], repairs and repairs[i]
      local value = refusal or allowed and (writes and writes[i] or write)
      if repair or value then
        local ttl = lives and lives[i] or ARGV[2 * i]
        -- What other rules know of the subject is needed for as long as they said.
        if keeps and keeps[i] then ttl = string.format('%.0f', math.max(ttl, keeps[i])) end
        local patch = patches and patches[i]
        if value and not patch then
          call('SET', KEYS[i], value, 'PX', ttl)
        elseif value then
          call('SETRANGE', KEYS[i], '0', value)
          if patch[1] then call('SETRANGE', KEYS[i], patch[1], patch[2]) end
          call('PEXPIRE', KEYS[i], ttl)
        end
        if repair and (refusal or not value) then
          for at, shift in pairs(repair) do
            call('SETRANGE', KEYS[i], at, pack('>d', shift))
          end
          call('PEXPIRE', KEYS[i], ttl)
        end
      end
    end
    if marker and count > 0 then call('SET', marker, units, 'PX', ARGV[2]) end
  end
end
return answer
