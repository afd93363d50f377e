-- SPDX-License-Identifier: Apache-2.0
--
-- Decides one call: all rules of all its keys, all or nothing. It reads everything, then decides, then writes,
-- because Redis does not roll a script back.
--
-- KEYS[i]       what is known of one subject: the log of the units it took, shared by all rules that read it, or the
--               cells of the other rules, each of which keeps some numbers (cells.lua)
-- ARGV[2i - 1]  the plan: mode (1 byte; 0 peek, 1 acquire, 2 record, 3 acquire but
--               refuse nobody), cost (4), number of rules (1), fingerprint of the
--               rules (4). For a log: for each rule, longest window first, count and window (8 + 8), the header of an
--               empty log. For cells: 16 + their number where they follow the log of the same charge, else 32 + it
-- ARGV[2i]      time to live of the key in ms, as text, because Redis would print a number anew for each command
--
-- A log is a header and the stamps of its units, oldest first. It is big-endian; d is a double. Times are microseconds.
-- Everything stays below 2^53, where doubles are exact; no time is ever printed by Lua, which would lose digits.
--    1 I4  fingerprint of the rules that the cursors belong to; 0 if the log outlives those rules' windows
--    5 I4  units in a roomy log; 0 in a dense one, whose units fill the value to its end
--    9 d   stamp of the newest unit of a roomy log
--   17 d   shift: stamp = Redis' clock + shift; it grows when that clock is set back
--   25 I4  keep: most units that any rule of this log may ask for
--   29 d   horizon: longest window of any rule of this log; older units go
--   37 B   16 + number of rules
--   38 I4  for each rule its cursor, the index of its first unit that is still inside the window
--
-- A dense log is shorter than a page and is rewritten whole. A longer one is roomy: written in place while the room at
-- its end lasts, then written anew without the units past the horizon. So a call costs the same at any length.
--
-- Returns for each log: now and the newest stamp before this call (d, d), and for each rule the units left before this
-- call (i4) and a time (d): until the call could pass where the rule is violated (-1: it never could), else until the
-- next unit comes back. The call is allowed unless a rule has fewer units left than the cost.

local call, struct = redis.call, struct
local pack, unpack, byte, sub = struct.pack, struct.unpack, string.byte, string.sub
local KEYS, ARGV = KEYS, ARGV
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local DENSE = 118 -- units at most in a dense log: with any header less than a page
local EXACT = 9007199254740992 -- 2^53; no time is as late
local LONGEST = 31622400000000 -- 366 days; no window is longer
local allowed, reply, write, writes, patches, lives, repairs, refusals, broken = true
local refused -- by a rule of this charge
local skips -- keys whose charge refuses nobody, and takes nothing since it would have

-- Two readers of a log, made only where a look at the first page does not do: stamp(k) of a unit, and advance(k, edge),
-- the first unit from k on that is younger than the edge, n if none is. It gallops: cursors mostly move by little.
local function readers(key, page, header, n)
  local from = 0
  local function stamp(k)
    local at = header + 8 * k - from
    if at < 0 or at + 8 > #page then
      from, at = header + 8 * k, 0
      page = call('GETRANGE', key, from, from + 511)
    end
    if #page < at + 8 then -- fewer units than it says
      broken = key
      return 0
    end
    return (unpack('>d', page, at + 1))
  end
  return stamp, function(k, edge)
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

for i = 1, #KEYS do
  local key, plan = KEYS[i], ARGV[2 * i - 1]
  local mode, cost, rules, print = unpack('>BI4BI4', plan)
  if rules < 16 then
    local page = call('GETRANGE', key, '0', '1023')
    refused = false
    local header, n, newest, shift, now, roomy = 37 + 4 * rules, 0, 0, 0, clock, false
    local moved, horizon, stamp, advance

    if #page < 49 then -- no log yet, or something too short to be one
      page = sub(plan, 11 + 16 * rules)
    else
      local stored
      stored, n, newest, shift = unpack('>I4I4dd', page)
      if stored ~= print then -- written by a policy with other rules, or by something else
        local whole, fresh = call('GET', key), sub(plan, 11 + 16 * rules)
        local others = unpack('>B', whole, 37) - 16
        local first = 37 + 4 * others
        if n == 0 then n = (#whole - first) / 8 end
        local keep, longest = unpack('>I4d', fresh, 25)
        local kept, outlived, _, low = unpack('>I4dBI4', whole, 25)
        -- Units that this log has no more, though a roomy one still holds them.
        local gone = math.max(stored ~= 0 and low or 0, n - kept)
        if others < 1 or others > 8 or gone >= n or n % 1 > 0 or first + 8 * n > #whole
          or not (outlived <= LONGEST) then
          page, n, newest, shift = fresh, 0, 0, 0
        else
          keep, horizon = math.max(keep, kept), math.max(longest, outlived)
          page = pack('>I4I4ddI4d', horizon > longest and 0 or print, 0, 0, shift, keep, horizon)
            .. sub(fresh, 37) .. sub(whole, first + 8 * gone + 1, first + 8 * n)
          n, newest, moved, lives = n - gone, unpack('>d', page, #page - 7), {}, lives or {}
          lives[i] = string.format('%.0f', math.ceil(horizon / 1000) + 1000)
        end
      elseif n > 0 then
        roomy = true
      else
        n = (#page - header) / 8
        newest = unpack('>d', page, #page - 7)
      end
      now = clock + shift
      if not (now < EXACT) then broken = key end
      if now < newest then -- Redis' clock was set back: the log's time goes on from its newest unit
        shift, now, moved = newest - clock, newest, moved or {}
        if mode > 0 then
          repairs = repairs or {}
          repairs[i] = shift
        end
      end
    end

    local head = pack('>dd', now, newest)
    reply = reply and reply .. head or head
    local at = 11
    for r = 1, rules do
      local count, window = unpack('>dd', plan, at)
      local k, oldest, edge = 0, now, now - window
      at = at + 16
      if n > 0 then
        k = unpack('>I4', page, 34 + 4 * r)
        if k < n then
          local place = header + 8 * k
          oldest = place + 8 <= #page and unpack('>d', page, place + 1) or edge
          if oldest <= edge then
            if not stamp then stamp, advance = readers(key, page, header, n) end
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
          if not stamp then stamp, advance = readers(key, page, header, n) end
          wait = stamp(leaves) - edge
          if not (wait <= window) then broken = key end
        else
          wait = mode ~= 2 and -1 or window
        end
      end
      reply = reply .. pack('>i4d', left, wait)
    end

    if mode == 3 and refused then
      skips = skips or {}
      skips[i] = true
    elseif mode > 0 and allowed and not broken then
      local units = pack('>d', now)
      if cost > 1 then units = string.rep(units, cost) end
      if not moved and not roomy and mode ~= 2 and n + cost <= DENSE then
        write = page .. units -- as it was, with these units: they fit, or a rule would have refused them
      else
        local keep = unpack('>I4', page, 25)
        local taken = math.min(cost, keep)
        units = sub(units, 1, 8 * taken)
        local low = moved and moved[1] or n > 0 and unpack('>I4', page, 38) or 0
        if horizon then
          if not stamp then stamp, advance = readers(key, page, header, n) end
          low = advance(0, now - horizon)
        end
        local inPlace = roomy and low <= n / 8 and header + 8 * (n + taken) <= call('STRLEN', key)
        local first = inPlace and 0 or math.max(low, n + taken - keep)
        local live = n - first + taken
        local head = sub(page, 1, 4) .. pack('>I4dd', live > DENSE and live or 0, now, shift)
          .. sub(page, 25, 37)
        for r = 1, rules do
          local k = moved and moved[r] or unpack('>I4', page, 34 + 4 * r)
          head = head .. pack('>I4', math.max(0, k - first))
        end
        if inPlace then
          write, patches = head, patches or {}
          patches[i] = { header + 8 * n, units }
        else
          local from, to = header + 8 * first, header + 8 * n
          local kept = to <= #page and sub(page, from + 1, to)
            or from < to and call('GETRANGE', key, from, to - 1) or ''
          write = head .. kept .. units .. (live > DENSE and string.rep('\0', 8 * math.floor(live / 8)) or '')
        end
      end
      if #KEYS > 1 then
        writes = writes or {}
        writes[i] = write
      end
    end
  else
    --%cells
  end
end

if broken then -- written by something else: it would deny, or admit, for ever
  call('DEL', broken)
  return redis.error_reply('ERR what lay under a key was no log, and was removed')
elseif allowed and write or refusals or repairs then
  for i = 1, #KEYS do
    local value, ttl = writes and writes[i] or write, lives and lives[i] or ARGV[2 * i]
    if allowed and value and not (skips and skips[i]) then
      if patches and patches[i] then
        call('SETRANGE', KEYS[i], '0', value)
        call('SETRANGE', KEYS[i], patches[i][1], patches[i][2])
        call('PEXPIRE', KEYS[i], ttl)
      else
        call('SET', KEYS[i], value, 'PX', ttl)
      end
    -- All that a charge writes that is refused, or refuses: that a ban comes nearer; that time has begun for a bucket
    -- that was not full at first; and the new shift, without which a log whose clock was set back by an hour would deny
    -- for an hour.
    elseif refusals and refusals[i] then
      call('SET', KEYS[i], refusals[i], 'PX', ttl)
    elseif repairs and repairs[i] then
      call('SETRANGE', KEYS[i], '16', pack('>d', repairs[i]))
      call('PEXPIRE', KEYS[i], ttl)
    end
  end
end
return reply
