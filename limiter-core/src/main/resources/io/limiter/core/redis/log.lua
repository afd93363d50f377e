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
          --%readers
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
        --%readers
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
        --%readers
      end
      low = advance(0, now - outlives)
    end
    local inPlace = roomy
      and low <= n / 8
      and base == (front and base or span)
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
