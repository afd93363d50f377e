-- SPDX-License-Identifier: Apache-2.0
--
-- Gives back the units that one decision took. decide.lua describes what lies under a key.
--
-- KEYS[i]       what is known of one subject
-- ARGV[2i - 1]  stamp of the units of the log (8 bytes, d): what decide.lua returned as the log's "now". If there are cells,
--               followed by that of the cells (d), by the plan, by two numbers for each cell (I4, I4), how many units
--               it is given back and how many the call took of it in all, and by the time for which the call waits (d,
--               in the leaky bucket's parts). A call that was only recorded took no more than there was room for, of
--               each cell another number
-- ARGV[2i]      how many units of the log, as text; of those that were recorded, fewer by those that went for them
--
-- Returns how many units were found. Units that have left the log are past every window: there is nothing to give back.
-- So are those that have come back to a bucket: what came back meanwhile is not given back twice. A call that waits in a
-- leaky bucket gives up its departure; once that has come, there is nothing to give back.

local call, pack, unpack, byte, sub = redis.call, struct.pack, struct.unpack, string.byte, string.sub
--%constants
local returning = 0

-- The cells of a subject as they are without these units, nil if none of them counts the units any more; and how many
-- were given back at most. The cells may stand among those of other rules. What was begun after the units were taken does
-- not have them, whatever it counts.
local function returned(page, stamp, plan)
  -- Adds departures to the gaps of a leaky bucket; false if some of them are free already.
  local function give(gaps, from, units)
    local to, at, given = from - units + 1, 1, { from, units, units }
    while gaps[at] and gaps[at][1] - gaps[at][2] + 1 > from do at = at + 1 end
    local after = gaps[at]
    if after and after[1] >= to then
      if after[1] < from or after[1] - after[2] + 1 > to or after[3] + units > after[2] then return false end
      after[3] = after[3] + units
      return true
    end
    if after and after[2] == after[3] and after[1] + 1 == to then
      given = { from, units + after[2], units + after[2] }
      table.remove(gaps, at)
    end
    local before = gaps[at - 1]
    if before and before[2] == before[3] and before[1] - before[2] == from then
      at, given = at - 1, { before[1], before[2] + given[2], before[2] + given[2] }
      table.remove(gaps, at)
    end
    table.insert(gaps, at, given)
    if #gaps > 8 then -- the two that are closest become one, of which it is not known which departures are free
      local closest, least = 1, 1 / 0
      for g = 1, #gaps - 1 do
        local between = gaps[g][1] - gaps[g][2] - gaps[g + 1][1]
        if between < least then closest, least = g, between end
      end
      local one, other = gaps[closest], table.remove(gaps, closest + 1)
      gaps[closest] = { one[1], one[1] - other[1] + other[2], one[3] + other[3] }
    end
    return true
  end

  local _, _, size, _, _, length = unpack('>BI4BI4I4I2', plan)
  local cells, there, most = size % 16, {}, 0
  local own = 17 + (size >= 16 and 20 * (size - cells) / 16 + 37 or 0)
  local at, code = 25 + 5 * (unpack('>I4', page, 5) % 16), own + length
  for c = 1, unpack('>I4', page, 5) % 16 do
    local kind, size = unpack('>I4B', page, 20 + 5 * c)
    if kind == DATA and unpack('>d', page, at) > stamp then return nil, 0 end
    there[c] = { sub(page, 20 + 5 * c, 24 + 5 * c), at, size }
    at = at + 8 * size
  end
  for c = 1, cells do
    local units, all = unpack('>I4I4', plan, #plan - 7 - 8 * (cells - c + 1))
    local algorithm, cell, size, at = byte(plan, code)
    for _, one in ipairs(there) do
      if one[1] == sub(plan, own + 24 + 5 * c, own + 28 + 5 * c) then
        one[1], at, size = nil, one[2], one[3]
        break
      end
    end
    local first, second = 0, 0
    if at then first, second = unpack('>dd', page, at) end
    if not at or units == 0 then -- it went, or nothing of it is given back, as of the ban
    elseif algorithm == 1 then
      local _, _, window = unpack('>Bdd', plan, code)
      local previous = unpack('>d', page, at + 16)
      if stamp >= first and second > 0 then
        cell = pack('>ddd', first, math.max(0, second - units), previous)
      elseif stamp < first and stamp >= first - window and previous > 0 then
        cell = pack('>ddd', first, second, math.max(0, previous - units))
      end
    elseif algorithm == 2 or algorithm == 3 then
      if stamp >= first and second > 0 then cell = pack('>dd', first, math.max(0, second - units)) end
    elseif algorithm == 4 then
      local _, _, unit, rate = unpack('>Bddd', plan, code)
      local credit = math.min(units * unit, all * unit - math.max(0, first - stamp) * rate)
      if credit > 0 and second > 0 then cell = pack('>dd', first, math.max(0, second - credit)) end
    elseif algorithm == 5 then
      local _, _, interval, refill = unpack('>Bddd', plan, code)
      local credit = math.min(units, all - math.ceil(math.max(0, first - stamp) / interval) * refill)
      if credit > 0 and second > 0 then cell = pack('>dd', first, math.max(0, second - credit)) end
    elseif algorithm == 6 then
      local _, unit, rate, _, _, fair = unpack('>Bddddd', plan, code)
      local waits = unpack('>d', plan, #plan - 7)
      if waits > 0 and units > 0 and units == all then
        local gapsOf, packed
        --%gaps
        local time, newest, shift = call('TIME'), unpack('>dd', page, 9)
        local now = math.max(time[1] * 1000000 + time[2] + shift, newest)
        local from = (second - waits + (first - stamp) * rate) / unit
        local departures = math.ceil((second - (now - first) * rate) / unit) - 1
        if first >= stamp and from % 1 == 0 and from >= units and from <= departures then
          local gaps, tail = gapsOf(at + 16, departures)
          if give(gaps, from, units) then
            tail = fair == 0 and gaps[#gaps]
            while tail and tail[2] == tail[3] and tail[1] == tail[2] do -- as if never handed out
              second = second - tail[2] * unit
              table.remove(gaps)
              for g = 1, #gaps do gaps[g][1] = gaps[g][1] - tail[2] end
              tail = gaps[#gaps]
            end
            cell = pack('>dd', first, second) .. packed(gaps)
          end
        end
      end
    end
    --%next
    if cell then page, most = sub(page, 1, at - 1) .. cell .. sub(page, at + 8 * size), math.max(most, units) end
  end
  return most > 0 and page or nil, most
end

-- What is needed for a log that is longer than a page, or whose header is wide.
local function tools()
  --%units
  return opened, found, without, write, head
end

-- A dense log as it is without these units, nil if it has none of them; and how many it had.
local function shortened(log, rules, stamp, units)
  local header = 37 + 4 * rules
  local n = math.floor((#log - header) / 8)
  local low, high = math.max(unpack('>I4', log, 38), n - unpack('>I4', log, 25)), n -- the first unit that is not older than the stamp
  local gone = low
  while low < high do
    local middle = math.floor((low + high) / 2)
    if unpack('>d', log, header + 8 * middle + 1) < stamp then low = middle + 1 else high = middle end
  end
  local after = low
  while after < n and after - low < units and unpack('>d', log, header + 8 * after + 1) == stamp do
    after = after + 1
  end
  if gone + after - low >= n then return '', after - low end
  if after == low then return nil, 0 end
  return sub(log, 1, 37) .. string.rep('\0', 4 * rules) -- the cursors: the log's time may have gone back
    .. sub(log, header + 8 * gone + 1, header + 8 * low) .. sub(log, header + 8 * after + 1), after - low
end

-- Everything is read before anything is written: Redis does not roll a script back that meets a key of another type.
local whole, heads, longs = {} -- what a value becomes, what it begins with from now on, and a log in place
local opened, found, without, write, head
for i = 1, #KEYS do
  local key, argument, units = KEYS[i], ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local plan = sub(argument, 17)
  local logged = plan == '' or unpack('>B', plan, 6) >= 16
  local page = call('GETRANGE', key, '0', logged and '2047' or '1023')
  local base, given = 0, 0
  if #page >= 45 then
    local mark = unpack('>I4', page, 5)
    local cells, most
    if mark >= CELLS then -- it begins with cells
      base = 24 + 5 * (mark % 16)
      for c = 1, mark % 16 do base = base + 8 * (byte(page, 24 + 5 * c) or 255) end
    end
    if base <= #page and base <= MOST_BYTES then
      if plan ~= '' and base > 0 then
        cells, most = returned(sub(page, 1, base), unpack('>d', argument, 9), plan)
        heads = heads or {}
        heads[i] = cells
      end
      local print, roomy, kind = 0, 0, 0
      if logged and #page >= base + 49 then
        print, roomy = unpack('>I4I4', page, base + 1)
        kind = byte(page, base + 37)
      end
      if print ~= 0 and roomy == 0 and #page < 2048 and kind > 16 and kind <= 24 then
        local log
        log, given = shortened(base > 0 and sub(page, base + 1) or page, kind - 16, unpack('>d', argument), units)
        if log then whole[i] = base > 0 and (cells or sub(page, 1, base)) .. log or log end
      elseif kind > 0 then
        if not opened then opened, found, without, write, head = tools() end
        local log = opened(key, page, base)
        if log then
          local low, after, newest = found(log, unpack('>d', argument), units)
          given = after - low
          if not newest then -- that were all
            whole[i] = base > 0 and (cells or sub(page, 1, base)) or ''
          elseif given > 0 then
            local gone, n, writes = without(log, low, after, 0, '', true)
            local header = head(log, n, newest, gone, log.wide)
            if type(writes) == 'string' then
              whole[i] = (cells or sub(page, 1, base)) .. header .. writes
            else
              longs = longs or {}
              longs[i] = { cells and 0 or base, (cells or '') .. header, log, writes }
            end
          end
        end
      end
      if most and most > given then given = most end
    end
  end
  returning = returning + given
end
for i = 1, #KEYS do
  local long = longs and longs[i]
  if whole[i] == '' then
    call('DEL', KEYS[i])
  elseif whole[i] then
    call('SET', KEYS[i], whole[i], 'KEEPTTL')
  elseif long then
    call('SETRANGE', KEYS[i], long[1], long[2])
    write(long[3], long[4])
  elseif heads and heads[i] then
    call('SETRANGE', KEYS[i], '0', heads[i])
  end
end
return returning
