-- SPDX-License-Identifier: Apache-2.0
--
-- A log that units are taken out of, for refund.lua and renew.lua; log.lua describes it. Of a long one only pages are
-- read, and of the units around the gap the shorter side is moved.

--%repeated

local function stamp(log, k)
  local place = log.header + 8 * k - log.from
  if place < 0 or place + 8 > #log.page then
    place = math.min(8 * k, 256)
    log.from = log.header + 8 * k - place
    log.page = call('GETRANGE', log.key, log.from, log.from + 511)
  end
  return (unpack('>d', log.page, place + 1))
end

-- What begins behind `base` bytes of a value, whose first page is given; nil if that is no log.
local function opened(key, page, base)
  local size = #page < 2048 and #page or call('STRLEN', key)
  if size < base + 49 then return nil end
  local stored, n, newest, shift, keep, horizon, kind, low = unpack('>I4I4ddI4dBI4', page, base + 1)
  local header, roomy = base + 37 + 4 * (kind - 16), n > 0
  if not roomy then n = math.floor((size - header) / 8) end
  local gone = math.max(stored ~= 0 and low or 0, n - keep)
  if kind < 17 or kind > 24 or header + 8 * n > size or gone >= n or not (horizon <= LONGEST) then return nil end
  local log = { key = key, page = page, from = 0, base = base, header = header, size = size, stored = stored, n = n,
    roomy = roomy, shift = shift, keep = keep, horizon = horizon, kind = kind, gone = gone }
  if not roomy then newest = stamp(log, n - 1) end
  if not (newest >= 0 and newest < EXACT) then return nil end
  log.ends = newest + horizon
  if stored == 0 and kind == 24 then
    local print, till, dead = unpack('>I4dI4', page, base + 38)
    if till > newest and till <= log.ends and till % 1 == 0 and dead < n then
      log.wide, log.ends, log.gone = print, till, math.max(gone, dead)
    end
  end
  return log
end

-- The first unit of those from k to before `after` that is not older than an edge, `after` if none is.
local function first(log, k, after, edge)
  local look = after - 32 -- mostly it is one of the newest
  while k < after do
    if look < k then look = math.floor((k + after) / 2) end
    if stamp(log, look) < edge then k = look + 1 else after = look end
    look = -1
  end
  return k
end

-- As many units of a stamp as there are, up to so many: the first of them, and the one after the last. Then the newest
-- unit without them, nil if they are all.
local function found(log, taken, units)
  local low = first(log, log.gone, log.n, taken)
  local after = low
  if low < log.n and stamp(log, low) == taken then
    after = first(log, low, math.min(log.n, low + units), taken + 1)
  end
  if log.gone + after - low >= log.n then return low, after, nil end
  local newest = stamp(log, after == log.n and low - 1 or log.n - 1)
  log.ends = math.min(log.ends, newest + log.horizon)
  return low, after, newest
end

-- The log without the units from `low` to before `after`, and without the oldest, as many as are dropped; with some stamps
-- added. Returns the index of its oldest unit, how many it has from index 0 on, and how it is written behind its header: all
-- bytes; or, in place, what has to be moved (from, to, length), what is written then (at, bytes, by turns).
local function without(log, low, after, drop, added, stays)
  local n, gone, removed, more = log.n, log.gone, after - low, #added / 8
  local header, room = log.header, log.size - log.header
  local live = n - gone - removed - drop + more
  local marks = log.wide or log.stored ~= 0 -- the header says which units are gone
  if stays and log.roomy and live > DENSE and room <= 16 * live then -- else it would hold memory for nothing
    if marks and (removed == 0 or low - gone < n - after) and 8 * (n + more) <= room then
      -- Those before come nearer. Where they were, stamps of no time are left, which no release counts.
      return gone + removed + drop, n + more, {
        header + 8 * gone, header + 8 * (gone + removed), removed > 0 and 8 * (low - gone) or 0,
        header + 8 * gone, repeated('\0', 8 * removed), header + 8 * n, added,
      }
    end
    if 8 * (n - removed + more) <= room and (marks or gone + drop == 0) then
      -- A release that knows no wide header takes the newest `keep` for those that there are: more than there were before,
      -- now that there are fewer of them.
      local least = log.wide and math.max(0, n - removed + more - log.keep) or 0
      local dead = log.wide and math.max(0, n - log.keep - least) or 0
      return gone + drop, n - removed + more, {
        header + 8 * after, header + 8 * low, removed > 0 and 8 * (n - after) or 0,
        header + 8 * (n - removed), added, header + 8 * least, repeated('\0', 8 * dead),
      }
    end
  end
  local kept, behind, from = '', '', gone + drop
  if from < low then kept = call('GETRANGE', log.key, header + 8 * from, header + 8 * low - 1) end
  from = after + math.max(0, from - low)
  if from < n then behind = call('GETRANGE', log.key, header + 8 * from, header + 8 * n - 1) end
  return 0, live, kept .. behind .. added .. (live > DENSE and repeated('\0', 8 * math.floor(live / 8)) or '')
end

-- Writes what has to be written in place, but for the header. Bytes are moved a few at a time: Lua would have to find the
-- memory for a long text first.
local function write(log, writes)
  local from, to, length = writes[1], writes[2], writes[3]
  for done = 0, length - 1, 8192 do
    local part = math.min(8192, length - done)
    local at = from < to and length - done - part or done
    call('SETRANGE', log.key, to + at, call('GETRANGE', log.key, from + at, from + at + part - 1))
  end
  for w = 4, #writes, 2 do
    if writes[w + 1] ~= '' then call('SETRANGE', log.key, writes[w], writes[w + 1]) end
  end
end

-- Its header. The cursors start from the oldest unit: the log's time may have gone back.
local function head(log, n, newest, gone, wide)
  return pack('>I4I4ddI4dB', wide and 0 or log.stored, n > DENSE and n or 0, n > DENSE and newest or 0, log.shift, log.keep,
    log.horizon, wide and 24 or log.kind)
    .. (wide and pack('>I4dI4', wide, log.ends, gone) or '')
    .. string.rep(pack('>I4', gone), wide and 4 or log.kind - 16)
end
