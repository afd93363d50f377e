-- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads and writes a log. It stands within the loop over the keys, before the cells.
--
-- A log is a header and the stamps of its units, oldest first.
--    1 I4  print: whose cursors it has; 0 if it has a wide header, or was written by a release that had none
--    5 I4  units in a roomy log; 0 in a dense one, whose units fill the value to its end
--    9 d   stamp of the newest unit of a roomy log
--   17 d   shift: stamp = Redis' clock + shift
--   25 I4  keep: most units that any rule of this log may ask for
--   29 d   horizon: longest window of any rule of this log; older units go
--   37 B   16 + number of rules
--   38 I4  for each rule its cursor, the index of its first unit that is still inside the window
--
-- Rules may change, or differ between stacks that share the log. The horizon of a stack with a longer window holds until that
-- window has passed since the stack last took units; then it is that of the stack that writes. Where the horizon is the
-- writer's own, it holds until newest + horizon, and that is not written down; else the header is wide: print 0, 16 + 8, and in
-- the place of eight cursors
--   38 I4  whose cursors these are
--   42 d   until
--   50 I4  low: index of the oldest unit that there still is
--   54 I4  the cursors of the first four rules; the others are searched for
-- So stacks of any rules write it in place in turn. A release without wide headers had cursors here, with print 0 too, which
-- are no whole time: they are passed over.
--
-- A dense log is shorter than a page and is rewritten whole. A longer one is roomy: written in place while the room at
-- its end lasts, then rewritten without the units past the horizon. One that has a plain header of other rules is
-- rewritten once, with a wide one. So a call costs the same at any length, but for the bytes that are moved then.
--
-- Returns now and the newest stamp before this call (d, d), and for each rule the units left before this call (i4) and a
-- time (d): until the call could pass where the rule is violated (-1: it never could), else until the next unit comes
-- back. The call is allowed unless a rule has fewer units left than the cost.

local page, header, now, roomy = value, 37 + 4 * rules, clock, false
local stored, n, newest, shift, keep, horizon, others, low = stored, n, newest, shift, keep, horizon, others, low
local front, moved, stamp, advance
-- Of a log without a plain header of these rules: the oldest unit that there still is; whose cursors there are, if the header
-- is wide; until when a longer horizon holds; and whether more units are kept from now on.
local gone, wide, ends, grown
if cells > 0 or base > 0 then
  if cells > 0 then
    page = base > 0 and sub(value, base + 1) or value
  else
    -- This stack has no cells: they stay in front of its log while they may be needed.
    if clock + shift - newest <= (math.floor(n / 16) - SECONDS) * 1000000 + GRACE then
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
if stored and stored ~= logPrint then -- written by a stack with other rules, or by something else, or with a wide header
  local first, total = 37 + 4 * (others - 16), #page < 1024 and #page or call('STRLEN', key) - base
  roomy = n > 0
  if not roomy then n = (total - first) / 8 end
  -- Units that this log has no more, though a roomy one still holds them.
  gone = math.max(stored ~= 0 and low or 0, n - keep)
  if others < 17 or others > 24 or gone >= n or n % 1 > 0 or first + 8 * n > total or not (horizon <= LONGEST)
    or not roomy and total > #page then
    stored, gone, roomy = nil, nil, false
  else
    if not roomy then newest = unpack('>d', page, #page - 7) end
    header, moved, ends = first, {}, newest + horizon
    if stored == 0 and others == 24 then
      local print, till, dead = unpack('>I4dI4', page, 38)
      if till > newest and till <= ends and till % 1 == 0 and dead < n then
        wide, ends, gone = print, till, math.max(gone, dead)
      end
    end
  end
elseif stored and n > 0 then
  roomy = true
elseif stored then
  n = (#page - header) / 8
  if n < 0 or n % 1 > 0 then -- cut, or with something behind it
    broken, n = key, 0
  end
  newest = n > 0 and unpack('>d', page, #page - 7) or 0
end
if not stored then
  page = sub(plan, p + 16 * rules, p + 20 * rules + 36)
  n, newest, shift, low = 0, 0, 0, 0
else
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
if gone then -- what holds from now on, if this call takes units
  local most, longest = unpack('>I4d', plan, p + 16 * rules + 24)
  -- A release that knows no wide header takes the newest `keep` for those that there are.
  grown = gone > 0 and most > keep
  if longest < horizon and now < ends then
    keep, lives = math.max(most, keep), lives or {}
    lives[i] = string.format('%.0f', math.max(math.ceil(horizon / 1000) + 1000, ARGV[2 * i]))
  else
    keep = longest < horizon and most or math.max(most, keep)
    horizon, ends = longest, nil
  end
  low = gone
end
for r = 1, rules do
  local count, window = unpack('>dd', plan, p)
  local k, oldest, edge = 0, now, now - window
  p = p + 16
  if n > 0 then
    local known = true
    if not gone then
      k = r == 1 and low or unpack('>I4', page, 34 + 4 * r)
    else -- windows are in order: a cursor is never behind that of a longer one
      k, known = r == 1 and gone or moved[r - 1], wide == logPrint and r <= 4
      if known then k = math.max(k, (unpack('>I4', page, 50 + 4 * r))) end
      moved[r] = k
    end
    if k < n then
      local place = header + 8 * k
      oldest = place + 8 <= #page and unpack('>d', page, place + 1) or edge
      if oldest <= edge then
        if not stamp then
          --%readers
        end
        k = advance(k, edge, not known)
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
p = p + 37 + 4 * rules

if mode > 0 and allowed and not refused and not broken then
  stamped, takenAt = pack('>d', now), now
  if not moved and not roomy and mode ~= 2 and n + cost <= DENSE then
    units = cost > 1 and string.rep(stamped, cost) or stamped
    written = page -- as it was, with these units: they fit, or a rule would have refused them
  else
    if not gone then
      -- Bytes that are no log may say that it has to keep less than these rules ask for.
      keep = math.max(unpack('>I4', page, 25), (unpack('>I4', plan, p - 4 * rules - 13)))
    end
    --%repeated
    local taken = math.min(cost, keep)
    units = taken > 1 and repeated(stamped, taken) or stamped
    low = moved and moved[1] or low
    if ends then
      if not stamp then
        --%readers
      end
      low = advance(gone, now - horizon)
    end
    local inPlace = roomy
      and (wide and not grown or not gone)
      and low <= n / 8
      and base == (front and base or span)
      and base + header + 8 * (n + taken) <= call('STRLEN', key)
    local first = inPlace and 0 or math.max(low, n + taken - keep)
    local live = n - first + taken
    local head
    if gone and (inPlace or ends or not wide and live > DENSE) then
      head = pack('>I4I4ddI4dB', 0, live > DENSE and live or 0, now, shift, keep, horizon, 24)
        .. pack('>I4dI4', logPrint, ends or now + horizon, inPlace and math.max(low, n + taken - keep) or 0)
      for r = 1, 4 do
        head = head .. pack('>I4', math.max(0, (moved[r] or 0) - first))
      end
    else
      head = gone and pack('>I4I4ddI4dB', logPrint, live > DENSE and live or 0, now, shift, keep, horizon, 16 + rules)
        or sub(page, 1, 4) .. pack('>I4dd', live > DENSE and live or 0, now, shift) .. sub(page, 25, 37)
      for r = 1, rules do
        local k = moved and moved[r] or unpack('>I4', page, 34 + 4 * r)
        head = head .. pack('>I4', math.max(0, k - first))
      end
    end
    if inPlace then
      written, patches = head, patches or {}
      patches[i] = { base + header + 8 * n, units }
      units = ''
    else
      local from, to, room = header + 8 * first, header + 8 * n, live > DENSE and 8 * math.floor(live / 8) or 0
      local kept = to <= #page and sub(page, from + 1, to)
        or from < to and call('GETRANGE', key, base + from, base + to - 1) or ''
      room = room > 0 and repeated('\0', room) or ''
      if cells == 0 then -- at once: each copy of a long text takes long
        written, units, front = (front or '') .. head .. kept .. units .. room, '', nil
      else
        written, units = head, kept .. units .. room
      end
    end
  end
  if cells == 0 then written = front and front .. written .. units or written .. units end
end
