-- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads cells: the numbers that rules without a log keep, one cell for each, and a last one
-- for the ban. It stands within the loop over the keys. What a rule has left, and when more, the caller works out from
-- the numbers; here is only what has to be known to decide.
--
-- The plan goes on with the length of the state (2) and an empty state, then for each cell its algorithm (1) and numbers.
--
-- Cells are big-endian; d is a double.
--    0 I4  print: which stack's cells they are
--    4 I4  number of cells
--    8 d   time of the last write
--   16 d   shift: their time is Redis' clock + shift; it grows when the clock is set back
--   24     for each cell its print (I4: algorithm and numbers, but not the count) and the doubles it has (B)
--   ..     the doubles. The first of each cell is a time; below 0 it was never used
--
-- Returns for each key its time (d) and the doubles as they were before this call; then, if there is a ban, the rest of
-- it (d).

local cells = rules % 16
if rules >= 32 then refused = false end -- no log of the same charge was before
local length = unpack('>I2', plan, 11)
local data = 24 + 5 * cells
local page, newest, shift = call('GET', key), 0, 0
local stored, others
if page and #page >= 24 then stored, others, newest, shift = unpack('>I4I4dd', page) end
if stored ~= print then
  local empty = sub(plan, 13, 12 + length)
  page = stored and page or empty
  local known = {} -- cells of other rules, by their print: those that this stack has too go on
  if stored and others < 16 and #page >= 24 + 5 * others then
    local at = 25 + 5 * others
    for c = 1, others do
      local kind, size = unpack('>I4B', page, 20 + 5 * c)
      local same = known[kind] or {}
      same[#same + 1] = sub(page, at, at + 8 * size - 1)
      known[kind], at = same, at + 8 * size
    end
    if at - 1 ~= #page then known = {} end
  end
  local adopted, at = sub(empty, 1, data), data + 1
  for c = 1, cells do
    local kind, size = unpack('>I4B', empty, 20 + 5 * c)
    local one = known[kind] and table.remove(known[kind], 1)
    adopted = adopted .. (one and #one == 8 * size and one or sub(empty, at, at + 8 * size - 1))
    at = at + 8 * size
  end
  page = adopted
elseif #page ~= length then
  page, newest, shift = sub(plan, 13, 12 + length), 0, 0
end
local now = clock + shift
if not (now < EXACT and newest < EXACT) then page, newest, shift, now = sub(plan, 13, 12 + length), 0, 0, clock end
if now < newest then -- Redis' clock was set back: time goes on from the last write
  shift, now = newest - clock, newest
  if mode > 0 then
    repairs = repairs or {}
    repairs[i] = shift
  end
end

local answer = pack('>d', now) .. sub(page, data + 1)
reply = reply and reply .. answer or answer
local at, p, numbers, begun = data + 1, 13 + length, '', false
for c = 1, cells do
  local algorithm = byte(plan, p)
  local left
  if algorithm == 4 then -- token bucket: last take, debt in parts of a token
    local _, count, unit, rate, owed, forget = unpack('>Bddddd', plan, p)
    local last, debt = unpack('>dd', page, at)
    p, at = p + 41, at + 16
    local known = last >= 0 and last <= now and now - last < forget
    debt = known and math.max(0, math.min(debt, count * unit) - (now - last) * rate) or owed
    left = math.floor((count * unit - debt) / unit)
    if left < cost and cost <= count and not known and debt > 0 then -- time begins, or tokens would never come
      page, begun = sub(page, 1, at - 17) .. pack('>dd', now, debt) .. sub(page, at), mode % 2 == 1
    end
    numbers = numbers .. pack('>dd', now, debt + (mode == 2 and math.min(cost, left) or cost) * unit)
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
    numbers = numbers .. pack('>dd', start, used + (mode == 2 and math.max(0, math.min(cost, left)) or cost))
  elseif algorithm == 1 then -- sliding counter: start of the window, units in it, units in the one before
    local _, count, window = unpack('>Bdd', plan, p)
    local start, current, previous = unpack('>ddd', page, at)
    p, at = p + 17, at + 24
    local begin = math.floor(now / window) * window
    if start ~= begin then previous, current = start == begin - window and current or 0, 0 end
    if not (current >= 0 and current < EXACT) then current = 0 end
    if not (previous >= 0 and previous < EXACT) then previous = 0 end
    left = count - current - math.ceil(previous * (window - now + begin) / window)
    numbers = numbers
      .. pack('>ddd', begin, current + (mode == 2 and math.max(0, math.min(cost, left)) or cost), previous)
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
    numbers = numbers .. pack('>dd', last, used + (mode == 2 and math.min(cost, left) or cost))
  elseif algorithm == 6 then -- leaky bucket: last take, parts until the next free departure, then the gaps before it
    local _, unit, rate, queue, longest, fair = unpack('>Bddddd', plan, p)
    local last, ahead = unpack('>dd', page, at)
    local gaps, free, known, gapsOf, packed
    if last >= 0 and last <= now and ahead > 0 then
      local most = longest + (queue + 1) * unit
      local rest = math.min(ahead, most) - (now - last) * rate
      -- In a queue that is longer than this rule could have made it the gaps are not where they were.
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
        string.format('%.0f', math.max(math.ceil(needed / rate / 1000) + 1000, tonumber(lives[i] or ARGV[2 * i])))
    end
    numbers = numbers .. pack('>dd', now, ahead) .. (gaps and packed(gaps) or string.rep('\0', 64))
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
      lives[i] = string.format('%.0f', math.max(math.ceil(needed / 1000) + 1000, tonumber(lives[i] or ARGV[2 * i])))
    end
    reply = reply .. pack('>d', math.max(0, ends - now))
    numbers = numbers .. (mode == 3 and sub(page, at, at + 31) or pack('>dddd', since, violations, ends, level))
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
    numbers = numbers .. pack('>d', now)
    for a = 1, size do numbers = numbers .. pack('>d', after[a]) end
  end
  if left and left < cost and mode ~= 2 then allowed, refused = allowed and mode == 3, true end
end
if begun then
  refusals = refusals or {}
  refusals[i] = pack('>I4I4dd', print, cells, now, shift) .. sub(page, 25)
end
if mode == 3 and refused then
  skips = skips or {}
  skips[i] = true
  if rules < 32 then skips[i - 1] = true end
elseif mode > 0 and allowed and not broken then
  write = pack('>I4I4dd', print, cells, now, shift) .. sub(page, 25, data) .. numbers
  if #KEYS > 1 then
    writes = writes or {}
    writes[i] = write
  end
end
