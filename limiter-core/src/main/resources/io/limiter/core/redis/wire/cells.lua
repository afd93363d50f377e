-- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads and writes cells: the numbers that rules without a log keep, one cell for each, and a
-- last one for the ban. It stands within the loop over the keys, after the log. What a rule has left, and when more, the
-- caller works out from the numbers; here is only what has to be known to decide.
--
-- Cells begin as decide.lua says, then:
--   25     for each cell its print (I4: algorithm and numbers, but not the count) and the doubles it has (B)
--   ..     the doubles. The first of each cell is a time; below 0 it was never used
-- The first cell describes the others, for rules that are none of theirs: the time at which the first of them was written
-- (d), and for each its kind (B; 0 if nothing else is of it), for how long it is needed (B; a power of two in seconds), and
-- the scale of its numbers (I6: parts of a token, or the window in microseconds). Former releases write none.
--
-- Returns the time (d) and the doubles as they were before this call; then, if there is a ban, the rest of it (d).

local page, data, now, steady = value, 37 + 13 * cells, clock + shift, stored == print
if not steady then page = mine end
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
    local _, count, unit, rate, owed = unpack('>Bdddd', plan, p)
    local last, debt = unpack('>dd', page, at)
    p, at = p + 33, at + 16
    local known, more = last >= 0 and last <= now, 0 -- time has begun, and goes on until the key expires
    if not known then
      debt = owed
    else
      if not (debt > 0 and debt < EXACT) then debt = 0 end
      local full, back = count * unit, (now - last) * rate
      if debt > full then -- more than this rule can owe: one with a larger count took it, and it stays owed
        more, debt = math.max(0, debt - back), full
      end
      debt = debt - back
      if debt < 0 then debt = 0 end
      if more > 0 then more = more - debt end
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
    if more > 0 then
      debt, lives = debt + more, lives or {}
      lives[i] = string.format('%.0f', math.max(math.ceil(debt / rate / 1000) + 1000, lives[i] or ARGV[2 * i]))
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
      local begin
      local phase, before, change, after = unpack('>dddd', plan, p + 17)
      p = p + 49
      --%aligned
      if not (used > 0 and start >= begin and start <= now) then used = 0 end
      start = begin
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
    local _, count, interval, refill, owed = unpack('>Bdddd', plan, p)
    local last, used = unpack('>dd', page, at)
    p, at = p + 33, at + 16
    local known, more = last >= 0 and last <= now, 0
    if known then
      if not (used > 0 and used < EXACT) then used = 0 end
      local refills = math.floor((now - last) / interval)
      if used > count then more, used = math.max(0, used - refills * refill), count end
      used, last = used - refills * refill, last + refills * interval
      if used < 0 then used = 0 end
      if more > 0 then more = more - used end
      if used + more == 0 then last = now end
    else
      used, last = owed, now
    end
    left = count - used
    if left < cost and cost <= count and not known and used > 0 then
      page, begun = sub(page, 1, at - 17) .. pack('>dd', last, used) .. sub(page, at), mode % 2 == 1
    end
    used = used + (mode == 2 and math.min(cost, left) or cost)
    if more > 0 then
      used, lives = used + more, lives or {}
      local needed = math.ceil(used / refill) * interval
      lives[i] = string.format('%.0f', math.max(math.ceil(needed / 1000) + 1000, lives[i] or ARGV[2 * i]))
    end
    cell = pack('>dd', last, used)
  elseif algorithm == 6 then -- leaky bucket: last take, parts until the next free departure, then the gaps before it
    local _, unit, rate, queue, longest, fair = unpack('>Bddddd', plan, p)
    local last, ahead = unpack('>dd', page, at)
    local gaps, free, known, gapsOf, packed
    if last >= 0 and last <= now and ahead > 0 then
      local WAIT, DEPARTURES, QUEUE = 300000000, 120000, 10000 -- the most that any rule may have
      local most = math.min(WAIT * rate, DEPARTURES * unit) + (QUEUE + 1) * unit
      local rest = math.min(ahead, most) - (now - last) * rate
      -- In a queue that is longer than any rule could have made it the gaps are not where they were.
      if rest > unit and ahead <= most and unpack('>d', page, at + 16) >= 1 then
        --%gaps
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
    if not (since <= now and violations >= 0 and level >= 0) then
      since, violations, ends, level = 0, 0, 0, 0
      page = sub(page, 1, at - 1) .. string.rep('\0', 32) .. sub(page, at + 32)
    end
    if since % 1 > 0 then -- half a microsecond before the ban began: it lasts no longer than it may by now
      ends = math.min(ends, since + 0.5 + longest)
    elseif not (ends - now <= longest) then
      ends = now + longest
    end
    if ends > now and mode ~= 3 then -- a call that is only observed is not banned either
      allowed = allowed and mode == 2
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
        ends, level, violations, since = now + math.min(lasts, longest), level + 1, 0, now - 0.5
      end
      page, begun = sub(page, 1, at - 1) .. pack('>dddd', since, violations, ends, level) .. sub(page, at + 32), true
    end
    local needed = math.max(violations > 0 and since + within - now or 0, ends > 0 and ends + longest - now or 0)
    if needed > 0 then
      lives = lives or {}
      lives[i] = string.format('%.0f', math.max(math.ceil(needed / 1000) + 1000, lives[i] or ARGV[2 * i]))
    end
    banned = ends > now and mode < 2
    reply = reply .. pack('>d', math.max(0, ends - now))
    cell = sub(page, at, at + 31) -- a ban that is cut stays as it was, for rules that do not cut it
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
  local head, same = sub(plan, empty, empty + 7)
  if begun then numbers = sub(page, data + 1, length) end
  if steady then
    same = sub(page, 17, data)
  else
    local prints, born, described = sub(page, 25, data - 8 * cells - 8), sub(page, data - 8 * cells - 7, data - 8 * cells)
    if unpack('>d', born) < 0 then born = stamped end
    described = sub(page, data - 8 * cells + 1, data)
    if beside then
      local seconds = math.max(math.floor(unpack('>I4', head, 5) / 16) - SECONDS, math.min(beside.seconds, SECONDS - 1))
      local all = cells + beside.count + 1
      head = pack('>I4I4', 0, CELLS + 16 * seconds + all)
      prints = pack('>I4B', DATA, all) .. sub(prints, 6) .. beside.prints
      described, numbers = described .. beside.descriptions, numbers .. beside.numbers
      keeps = keeps or {}
      keeps[i] = call('PTTL', key)
    end
    same = pack('>d', shift) .. prints .. born .. described
  end
  if written and not begun then
    written = head .. stamped .. same .. numbers .. written .. units
  else
    written = head .. stamped .. same .. numbers
    if #value > base then
      --%behind
    end
  end
  if begun then
    refusals = refusals or {}
    refusals[i], written = written, nil
  end
elseif refused then
  written = nil
end
