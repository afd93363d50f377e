-- SPDX-License-Identifier: Apache-2.0
--
-- Decides one call: all rules of all its keys, all or nothing. It reads everything, then decides, then writes,
-- because Redis does not roll a script back.
--
-- KEYS[i]       all that is known of one subject under one limit: the log of the units it took, shared by all rules that
--               read it (log.lua), and cells, the numbers that each of the other rules keeps, and a ban (cells.lua)
-- ARGV[2i - 1]  the plan: mode (1 byte; 0 peek, 1 acquire, 2 record, 3 acquire but refuse nobody), cost (4), 16 times
--               the number of rules that read the log, and the number of cells (1), and the print of what the value
--               begins with where these rules wrote it (4); print of their log (4); length of their cells (2). With a
--               log: for each rule, longest window first, count and window (8 + 8), and the header of an empty log. With
--               cells: the cells as if never used, and for each its algorithm (1) and numbers
-- ARGV[2i]      time to live of the key in ms, as text, because Redis would print a number anew for each command
--
-- Behind these may stand units that another store took while this one was away, oldest first; the mode of the first plan
-- is greater by four times their number. They are recorded before the call is decided, and whatever becomes of it. For
-- each:
-- KEYS          what is known of the subject; then a marker, which only the first script that brings these units sets
-- ARGV          the plan, to record; the time to live, of both; the age of the units in microseconds, as text
--
-- A value is a log, or cells, or cells and behind them a log. Both are big-endian and begin alike; d is a double. Times
-- are microseconds. Everything stays below 2^53, where doubles are exact; no time is ever printed by Lua, which would
-- lose digits.
--    1 I4  print: which rules wrote it
--    5 I4  below 2^31: a log. Else cells: 2^31, and 16 times the seconds for which they are needed, and their number
--    9 d   time of the newest unit of a roomy log, or of the last write of cells
--   17 d   shift: that time is Redis' clock + shift; it grows when the clock is set back
-- The rules of a limit may change, or differ between methods that share it. A log that a call has no rules for stays as it
-- is while it may be needed, and so do cells if it has none at all; of cells of other rules only those go on that are its
-- own too.
--
-- Returns for each key its status (1 byte), then what log.lua says, then what cells.lua says. The status is what the script
-- decided about this charge, and the caller does not decide it again.

local call, struct = redis.call, struct
local pack, unpack, byte, sub = struct.pack, struct.unpack, string.byte, string.sub
local KEYS, ARGV = KEYS, ARGV
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local DENSE = 118 -- units at most in a dense log: with any header less than a page
local CELLS = 2147483648 -- 2^31
local EXACT = 9007199254740992 -- 2^53; no time is as late
local LONGEST = 31622400000000 -- 366 days; no window is longer
local GRACE = 1000000 -- as long as a key outlives what it is needed for
-- A status: the charge admits the call, a rule of it refuses the call, or its ban does. Of a charge that is only observed
-- it says what its rules would do.
local ADMITTED, LIMITED, BANNED = 'A', 'L', 'B'
local past = math.floor(byte(ARGV[1]) / 4)
local answer

for turn = past, 0, -1 do -- the last is the call's own
  local count, age, KEYS, ARGV = #KEYS - 2 * past, 0, KEYS, ARGV
  if turn > 0 then
    local k, a = count + 2 * (past - turn), 2 * count + 3 * (past - turn)
    local first = call('SET', KEYS[k + 2], '', 'NX', 'PX', ARGV[a + 2])
    count, age = first and 1 or 0, tonumber(ARGV[a + 3])
    KEYS, ARGV = { KEYS[k + 1] }, { ARGV[a + 1], ARGV[a + 2] }
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
      if base > #value or base > 1023 then stored, value, base = nil, '', 0 end
    end
    local foreign = base > 0 and stored ~= print -- cells of other rules, which a refused call leaves as they are

    if rules > 0 then
      -- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads and writes a log. It stands within the loop over the keys, before the cells.
--
-- A log is a header and the stamps of its units, oldest first.
--    1 I4  print: whose cursors it has; 0 if the log outlives those rules' windows
--    5 I4  units in a roomy log; 0 in a dense one, whose units fill the value to its end
--    9 d   stamp of the newest unit of a roomy log
--   17 d   shift: stamp = Redis' clock + shift
--   25 I4  keep: most units that any rule of this log may ask for
--   29 d   horizon: longest window of any rule of this log; older units go
--   37 B   16 + number of rules
--   38 I4  for each rule its cursor, the index of its first unit that is still inside the window
--
-- A dense log is shorter than a page and is rewritten whole. A longer one is roomy: written in place while the room at
-- its end lasts, then written anew without the units past the horizon. So a call costs the same at any length.
--
-- Returns now and the newest stamp before this call (d, d), and for each rule the units left before this call (i4) and a
-- time (d): until the call could pass where the rule is violated (-1: it never could), else until the next unit comes
-- back. The call is allowed unless a rule has fewer units left than the cost.

local page, header, now, roomy = value, 37 + 4 * rules, clock, false
local stored, n, newest, shift, keep, horizon, others, low = stored, n, newest, shift, keep, horizon, others, low
local front, outlives, moved, stamp, advance
if cells > 0 or base > 0 then
  if cells > 0 then
    page = base > 0 and sub(value, base + 1) or value
  else
    -- This stack has no cells: they stay in front of its log while they may be needed.
    if clock + shift - newest <= (math.floor(n / 16) - 134217728) * 1000000 + GRACE then
      front, keeps = sub(value, 1, base), keeps or {}
      keeps[i] = call('PTTL', key)
    end
    page = call('GETRANGE', key, base, base + 1023)
  end
  stored = nil
  if #page >= 49 then
    stored, n, newest, shift, keep, horizon, others, low = unpack('>I4I4ddI4dBI4', page)
  end
end
if not stored then
  page = sub(plan, p + 16 * rules, p + 20 * rules + 36)
  n, newest, shift, low = 0, 0, 0, 0
else
  if stored ~= logPrint then -- written by a policy with other rules, or by something else
    local whole, fresh = call('GETRANGE', key, base, -1), sub(plan, p + 16 * rules, p + 20 * rules + 36)
    local first = 37 + 4 * (others - 16)
    if n == 0 then n = (#whole - first) / 8 end
    -- Units that this log has no more, though a roomy one still holds them.
    local gone = math.max(stored ~= 0 and low or 0, n - keep)
    if others < 17 or others > 24 or gone >= n or n % 1 > 0 or first + 8 * n > #whole or not (horizon <= LONGEST) then
      page, n, newest, shift, low = fresh, 0, 0, 0, 0
    else
      local most, longest = unpack('>I4d', fresh, 25)
      outlives, keep = math.max(longest, horizon), math.max(most, keep)
      page = pack('>I4I4ddI4d', outlives > longest and 0 or logPrint, 0, 0, shift, keep, outlives)
        .. sub(fresh, 37) .. sub(whole, first + 8 * gone + 1, first + 8 * n)
      n, newest, low, moved, lives = n - gone, unpack('>d', page, #page - 7), 0, {}, lives or {}
      lives[i] = string.format('%.0f', math.max(math.ceil(outlives / 1000) + 1000, ARGV[2 * i]))
    end
  elseif n > 0 then
    roomy = true
  else
    n = (#page - header) / 8
    if n < 0 or n % 1 > 0 then -- cut, or with something behind it
      broken, n = key, 0
    end
    newest = n > 0 and unpack('>d', page, #page - 7) or 0
  end
  now = clock + shift
  if not (now >= 0 and now < EXACT and newest >= 0 and newest < EXACT) then broken = key end
  if now < newest then -- Redis' clock was set back: the log's time goes on from its newest unit
    shift, now, moved = newest - clock, newest, moved or {}
    if mode > 0 then
      repairs = repairs or {}
      repairs[i] = { [base + 16] = shift }
      if foreign then
        keeps = keeps or {}
        keeps[i] = call('PTTL', key)
      end
    end
  end
end

if age > 0 then now = math.max(now - age, newest) end
for r = 1, rules do
  local count, window = unpack('>dd', plan, p)
  local k, oldest, edge = 0, now, now - window
  p = p + 16
  if n > 0 then
    k = r == 1 and low or unpack('>I4', page, 34 + 4 * r)
    if k < n then
      local place = header + 8 * k
      oldest = place + 8 <= #page and unpack('>d', page, place + 1) or edge
      if oldest <= edge then
        if not stamp then
          -- SPDX-License-Identifier: Apache-2.0
-- Two readers of a log, made only where a look at the first page does not do: stamp(k) of a unit, and advance(k, edge),
-- the first unit from k on that is younger than the edge, n if none is. It gallops: cursors mostly move by little.
local page, from = page, 0
stamp = function(k)
  local place = header + 8 * k - from
  if place < 0 or place + 8 > #page then
    from, place = header + 8 * k, 0
    page = call('GETRANGE', key, base + from, base + from + 511)
  end
  if #page < place + 8 then -- fewer units than it says
    broken = key
    return 0
  end
  return (unpack('>d', page, place + 1))
end
advance = function(k, edge)
  if stamp(k) > edge then return k end
  local step = 1
  while k + step < n and stamp(k + step) <= edge do
    k, step = k + step, 2 * step
  end
  local after = math.min(k + step, n)
  while after - k > 1 do
    local middle = math.floor((k + after) / 2)
    if stamp(middle) <= edge then k = middle else after = middle end
  end
  return after
end
        end
        k = advance(k, edge)
        oldest = k < n and stamp(k) or now
        moved = moved or {}
        moved[r] = k
      end
    elseif k > n then
      broken = key
    end
  end
  local left, wait = count - n + k, oldest - edge
  if left < cost then
    -- The unit that must leave first: for this call to pass, or, after a record, for any call to pass.
    local leaves = n + cost - count
    if mode ~= 2 then
      allowed, refused, leaves = allowed and mode == 3, true, leaves - 1
    end
    if leaves < n then
      if not stamp then
        -- SPDX-License-Identifier: Apache-2.0
-- Two readers of a log, made only where a look at the first page does not do: stamp(k) of a unit, and advance(k, edge),
-- the first unit from k on that is younger than the edge, n if none is. It gallops: cursors mostly move by little.
local page, from = page, 0
stamp = function(k)
  local place = header + 8 * k - from
  if place < 0 or place + 8 > #page then
    from, place = header + 8 * k, 0
    page = call('GETRANGE', key, base + from, base + from + 511)
  end
  if #page < place + 8 then -- fewer units than it says
    broken = key
    return 0
  end
  return (unpack('>d', page, place + 1))
end
advance = function(k, edge)
  if stamp(k) > edge then return k end
  local step = 1
  while k + step < n and stamp(k + step) <= edge do
    k, step = k + step, 2 * step
  end
  local after = math.min(k + step, n)
  while after - k > 1 do
    local middle = math.floor((k + after) / 2)
    if stamp(middle) <= edge then k = middle else after = middle end
  end
  return after
end
      end
      wait = stamp(leaves) - edge
      if not (wait <= window) then broken = key end
    else
      wait = mode ~= 2 and -1 or window
    end
  end
  local says = r == 1 and pack('>ddi4d', now, newest, left, wait) or pack('>i4d', left, wait)
  reply = reply and reply .. says or says
end
p = p + header

if mode > 0 and allowed and not refused and not broken then
  stamped, takenAt = pack('>d', now), now
  units = cost > 1 and string.rep(stamped, cost) or stamped
  if not moved and not roomy and mode ~= 2 and n + cost <= DENSE then
    written = page -- as it was, with these units: they fit, or a rule would have refused them
  else
    local keep = unpack('>I4', page, 25)
    local taken = math.min(cost, keep)
    units = sub(units, 1, 8 * taken)
    low = moved and moved[1] or low
    if outlives then
      if not stamp then
        -- SPDX-License-Identifier: Apache-2.0
-- Two readers of a log, made only where a look at the first page does not do: stamp(k) of a unit, and advance(k, edge),
-- the first unit from k on that is younger than the edge, n if none is. It gallops: cursors mostly move by little.
local page, from = page, 0
stamp = function(k)
  local place = header + 8 * k - from
  if place < 0 or place + 8 > #page then
    from, place = header + 8 * k, 0
    page = call('GETRANGE', key, base + from, base + from + 511)
  end
  if #page < place + 8 then -- fewer units than it says
    broken = key
    return 0
  end
  return (unpack('>d', page, place + 1))
end
advance = function(k, edge)
  if stamp(k) > edge then return k end
  local step = 1
  while k + step < n and stamp(k + step) <= edge do
    k, step = k + step, 2 * step
  end
  local after = math.min(k + step, n)
  while after - k > 1 do
    local middle = math.floor((k + after) / 2)
    if stamp(middle) <= edge then k = middle else after = middle end
  end
  return after
end
      end
      low = advance(0, now - outlives)
    end
    local inPlace = roomy
      and low <= n / 8
      and base == (front and base or length)
      and base + header + 8 * (n + taken) <= call('STRLEN', key)
    local first = inPlace and 0 or math.max(low, n + taken - keep)
    local live = n - first + taken
    local head = sub(page, 1, 4) .. pack('>I4dd', live > DENSE and live or 0, now, shift) .. sub(page, 25, 37)
    for r = 1, rules do
      local k = moved and moved[r] or unpack('>I4', page, 34 + 4 * r)
      head = head .. pack('>I4', math.max(0, k - first))
    end
    if inPlace then
      written, patches = head, patches or {}
      patches[i] = { base + header + 8 * n, units }
      units = ''
    else
      local from, to = header + 8 * first, header + 8 * n
      local kept = to <= #page and sub(page, from + 1, to)
        or from < to and call('GETRANGE', key, base + from, base + to - 1) or ''
      written = head .. kept
      if live > DENSE then units = units .. string.rep('\0', 8 * math.floor(live / 8)) end
    end
  end
  if cells == 0 then written = front and front .. written .. units or written .. units end
end
    end
    if cells > 0 then
      -- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads and writes cells: the numbers that rules without a log keep, one cell for each, and a
-- last one for the ban. It stands within the loop over the keys, after the log. What a rule has left, and when more, the
-- caller works out from the numbers; here is only what has to be known to decide.
--
-- Cells begin as decide.lua says, then:
--   24     for each cell its print (I4: algorithm and numbers, but not the count) and the doubles it has (B)
--   ..     the doubles. The first of each cell is a time; below 0 it was never used
--
-- Returns the time (d) and the doubles as they were before this call; then, if there is a ban, the rest of it (d).

local page, data, now, steady = value, 24 + 5 * cells, clock, stored == print
if steady then
  now = clock + shift
else
  -- SPDX-License-Identifier: Apache-2.0
-- Cells of other rules, by their print: those that this stack has too go on, with the time that they were written at.
local empty, known = sub(plan, p, p + length - 1), {}
if base > 0 then
  local from = 25 + 5 * (n % 16)
  for c = 1, n % 16 do
    local kind, size = unpack('>I4B', value, 20 + 5 * c)
    local same = known[kind] or {}
    same[#same + 1] = sub(value, from, from + 8 * size - 1)
    known[kind], from = same, from + 8 * size
  end
else
  newest, shift = 0, 0
end
local from = data + 1
page, now = sub(empty, 1, data), clock + shift
for c = 1, cells do
  local kind, size = unpack('>I4B', empty, 20 + 5 * c)
  local one = known[kind] and table.remove(known[kind], 1)
  page = page .. (one and #one == 8 * size and one or sub(empty, from, from + 8 * size - 1))
  from = from + 8 * size
end
end
if not (now >= 0 and now < EXACT and newest < EXACT) then
  page, newest, shift, now, steady = sub(plan, p, p + length - 1), 0, 0, clock, false
end
if now < newest then -- Redis' clock was set back: time goes on from the last write
  shift, now, steady = newest - clock, newest, false
  if mode > 0 then
    repairs = repairs or {}
    repairs[i] = repairs[i] or {}
    repairs[i][16] = shift
    if foreign or rules == 0 and #value > base then
      keeps = keeps or {}
      keeps[i] = call('PTTL', key)
    end
  end
end

if age > 0 then now = math.max(now - age, newest) end

local at, empty, begun, numbers = data + 1, p, false
if now ~= takenAt then stamped = pack('>d', now) end
if reply then
  reply = reply .. stamped .. sub(page, at, length)
else
  reply = stamped .. sub(page, at, length)
end
p = p + length
for c = 1, cells do
  local algorithm = byte(plan, p)
  local left, cell
  if algorithm == 4 then -- token bucket: last take, debt in parts of a token
    local _, count, unit, rate, owed, forget = unpack('>Bddddd', plan, p)
    local last, debt = unpack('>dd', page, at)
    p, at = p + 41, at + 16
    local known = last >= 0 and last <= now and now - last < forget
    if not known then
      debt = owed
    else
      if debt > count * unit then debt = count * unit end
      debt = debt - (now - last) * rate
      if not (debt > 0) then debt = 0 end
    end
    left = math.floor((count * unit - debt) / unit)
    if left < cost and cost <= count and not known and debt > 0 then -- time begins, or tokens would never come
      page, begun = sub(page, 1, at - 17) .. pack('>dd', now, debt) .. sub(page, at), mode % 2 == 1
    end
    if turn > 0 then -- the last token may have been whole where it was taken
      debt = math.min(debt + cost * unit, count * unit)
    else
      debt = debt + (mode == 2 and math.min(cost, left) or cost) * unit
    end
    cell = pack('>dd', now, debt)
  elseif algorithm == 2 or algorithm == 3 then -- fixed window: its start, units used
    local _, count, window = unpack('>Bdd', plan, p)
    local start, used = unpack('>dd', page, at)
    at = at + 16
    if algorithm == 2 then
      p = p + 17
      if not (used > 0 and start >= 0 and start <= now and now - start < window) then start, used = now, 0 end
    else
      local phase, before, change, after = unpack('>dddd', plan, p + 17)
      p = p + 49
      local offset = now < change and before or after
      local begin = math.floor((now + offset - phase) / window) * window + phase
      if now >= change and begin - after < change then -- begun before the change of clocks, or at it
        local earlier = begin - before
        begin = earlier < change and earlier + window >= change and earlier or change
      else
        begin = begin - offset
      end
      if not (used > 0 and start == begin) then start, used = begin, 0 end
    end
    left = count - used
    cell = pack('>dd', start, used + (mode == 2 and math.max(0, math.min(cost, left)) or cost))
  elseif algorithm == 1 then -- sliding counter: start of the window, units in it, units in the one before
    local _, count, window = unpack('>Bdd', plan, p)
    local start, current, previous = unpack('>ddd', page, at)
    p, at = p + 17, at + 24
    local begin = math.floor(now / window) * window
    if start ~= begin then previous, current = start == begin - window and current or 0, 0 end
    if not (current >= 0 and current < EXACT) then current = 0 end
    if not (previous >= 0 and previous < EXACT) then previous = 0 end
    left = count - current - math.ceil(previous * (window - now + begin) / window)
    local most = turn > 0 and count - current or left -- what is past counts when the window before has gone
    cell = pack('>ddd', begin, current + (mode == 2 and math.max(0, math.min(cost, most)) or cost), previous)
  elseif algorithm == 5 then -- token bucket refilled by interval: last refill, tokens used
    local _, count, interval, refill, owed, forget = unpack('>Bddddd', plan, p)
    local last, used = unpack('>dd', page, at)
    p, at = p + 41, at + 16
    local known = last >= 0 and last <= now and now - last < forget
    if known then
      local refills = math.floor((now - last) / interval)
      used, last = math.max(0, math.min(used, count) - refills * refill), last + refills * interval
      if used == 0 then last = now end
    else
      used, last = owed, now
    end
    left = count - used
    if left < cost and cost <= count and not known and used > 0 then
      page, begun = sub(page, 1, at - 17) .. pack('>dd', last, used) .. sub(page, at), mode % 2 == 1
    end
    cell = pack('>dd', last, used + (mode == 2 and math.min(cost, left) or cost))
  elseif algorithm == 6 then -- leaky bucket: last take, parts until the next free departure, then the gaps before it
    local _, unit, rate, queue, longest, fair = unpack('>Bddddd', plan, p)
    local last, ahead = unpack('>dd', page, at)
    local gaps, free, known, gapsOf, packed
    if last >= 0 and last <= now and ahead > 0 then
      local most = longest + (queue + 1) * unit
      local rest = math.min(ahead, most) - (now - last) * rate
      -- In a queue that is longer than this rule could have made it the gaps are not where they were.
      if rest > unit and ahead <= most and unpack('>d', page, at + 16) >= 1 then
        -- SPDX-License-Identifier: Apache-2.0
-- Departures of a leaky bucket that were given up, in 8 gaps, the earliest first; d for each, 0 where there is none: 2^34
-- times the number of its first departure, and 2^17 times how many it covers, and how many of these are free. Departures
-- are numbered backwards: 1 is the last that was handed out. Which are free is known where all are; else the earliest are
-- taken for it.
gapsOf = function(from, departures)
  local gaps, free, below = {}, 0, departures + 1
  for g = 0, 7 do
    local number = unpack('>d', page, from + 8 * g)
    if not (number >= 1 and number < EXACT) then break end
    local given = number % 131072
    local length, first = (number - given) / 131072 % 131072, math.floor(number / 17179869184)
    if not (given >= 1 and given <= length and length <= first) then break end
    local passed = math.max(0, first - departures)
    if given - passed >= 1 then
      if first - passed >= below then break end
      gaps[#gaps + 1] = { first - passed, length - passed, given - passed }
      free, below = free + given - passed, first - length + 1
    end
  end
  return gaps, free
end
packed = function(gaps)
  local numbers = ''
  for g = 1, #gaps do
    numbers = numbers .. pack('>d', gaps[g][1] * 17179869184 + gaps[g][2] * 131072 + gaps[g][3])
  end
  return numbers .. string.rep('\0', 64 - #numbers)
end
        gaps, free = gapsOf(at + 16, math.ceil(rest / unit) - 1)
        for g = fair == 0 and #gaps or 0, 1, -1 do
          if gaps[g][2] == gaps[g][3] then known = g end
        end
      end
      ahead = math.max(0, rest)
    else
      ahead = 0
    end
    left = queue + 1 - math.ceil(ahead / unit) + (free or 0)
    if ahead > longest then -- too far: only a gap may be near enough
      left = math.min(left, known and ahead - gaps[known][1] * unit <= longest and 1 or 0)
    end
    local before, units = ahead, mode == 2 and math.max(0, math.min(cost, left)) or cost
    if known and units == 1 then
      local gap = gaps[known]
      gaps[known] = { gap[1] - 1, gap[2] - 1, gap[3] - 1 }
      if gap[2] == 1 then table.remove(gaps, known) end
    else
      ahead = ahead + units * unit
      for g = 1, gaps and #gaps or 0 do gaps[g][1] = gaps[g][1] + units end
    end
    local needed = (left >= cost or mode == 2) and ahead or before
    if needed > longest + unit then -- longer than a call that costs one
      lives = lives or {}
      lives[i] =
        string.format('%.0f', math.max(math.ceil(needed / rate / 1000) + 1000, lives[i] or ARGV[2 * i]))
    end
    cell = pack('>dd', now, ahead) .. (gaps and packed(gaps) or string.rep('\0', 64))
    p, at = p + 41, at + 80
  elseif algorithm == 9 then -- the ban, after all rules
    local _, limit, within, time, growth, longest = unpack('>Bddddd', plan, p)
    local since, violations, ends, level = unpack('>dddd', page, at)
    if not (since <= now and violations >= 0 and level >= 0) then violations, ends, level = 0, 0, 0 end
    if not (ends - now <= longest) then ends = now + longest end
    if ends > now and mode ~= 3 then -- whoever refuses nobody bans nobody
      allowed, begun = allowed and mode == 2, false
    elseif mode == 1 and refused then
      if violations == 0 or now - since >= within then since, violations = now, 0 end
      violations = violations + 1
      if violations >= limit then
        if ends <= 0 or now - ends >= longest then level = 0 end
        local lasts = time
        for l = 1, level do
          lasts = lasts * growth
          if lasts >= longest then break end
        end
        ends, level, violations = now + math.min(lasts, longest), level + 1, 0
      end
      page, begun = sub(page, 1, at - 1) .. pack('>dddd', since, violations, ends, level), true
    end
    local needed = math.max(violations > 0 and since + within - now or 0, ends > 0 and ends + longest - now or 0)
    if needed > 0 then
      lives = lives or {}
      lives[i] = string.format('%.0f', math.max(math.ceil(needed / 1000) + 1000, lives[i] or ARGV[2 * i]))
    end
    banned = ends > now and mode < 2
    reply = reply .. pack('>d', math.max(0, ends - now))
    cell = (mode == 3 and sub(page, at, at + 31) or pack('>dddd', since, violations, ends, level))
  else -- an algorithm of the user's own: time of the last write, its numbers
    local read
    --%algorithms
    local _, size, count, window, memory, parameters = unpack('>BBdddB', plan, p)
    local arguments, state = {}, {}
    for a = 1, parameters do arguments[a] = unpack('>d', plan, p + 19 + 8 * a) end
    p = p + 27 + 8 * parameters
    local last = unpack('>d', page, at)
    for a = 1, size do state[a] = unpack('>d', page, at + 8 * a) end
    at = at + 8 + 8 * size
    if not (last >= 0 and last <= now and now - last < memory) then state = nil end
    local after
    left, after = read(now, cost, count, window, arguments, state)
    if mode == 2 and left < cost then
      left, after = read(now, math.min(cost, math.max(0, math.floor(left))), count, window, arguments, state)
    end
    cell = pack('>d', now)
    for a = 1, size do cell = cell .. pack('>d', after[a]) end
  end
  numbers = numbers and numbers .. cell or cell
  if left and left < cost and mode ~= 2 then allowed, refused = allowed and mode == 3, true end
end
if begun or mode > 0 and allowed and not refused and not broken then
  local head = sub(plan, empty, empty + 7)
  local same = steady and sub(page, 17, data) or pack('>d', shift) .. sub(page, 25, data)
  if written and not begun then
    written = head .. stamped .. same .. numbers .. written .. units
  else
    written = head .. stamped .. same .. (begun and sub(page, data + 1, length) or numbers)
    if #value > base then
      -- SPDX-License-Identifier: Apache-2.0
-- A log that this call does not write stays behind the cells: that of the same rules, which refused; or that of others,
-- while a rule of theirs may still count its units.
if #value >= base + 49 then
  local _, units, last, ahead, _, horizon, others = unpack('>I4I4ddI4dB', value, base + 1)
  if units == 0 then last = unpack('>d', value, #value - 7) end
  if others > 16 and others <= 24 and (rules > 0 or clock + ahead - last <= horizon + GRACE) then
    patches, keeps = patches or {}, keeps or {}
    if base == length then
      patches[i] = {}
    else
      written, patches[i] = written .. call('GETRANGE', key, base, -1), nil
    end
    keeps[i] = rules == 0 and call('PTTL', key)
    if begun and repairs and repairs[i] then repairs[i] = { [length + 16] = repairs[i][base + 16] } end
  end
end
    end
  end
  if begun then
    refusals = refusals or {}
    refusals[i], written = written, nil
  end
elseif refused then
  written = nil
end
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
  end
end
return answer
