-- SPDX-License-Identifier: Apache-2.0
--
-- Lifts bans, and keeps everything else: the numbers of a ban become those of a subject that was never denied.
-- cells.lua describes them. No length and no time to live changes.
--
-- KEYS[i]  the state of one subject
--
-- Returns how many bans there were, also ended ones and violations without a ban.
--
-- Defined by the included part:
-- luacheck: read globals CELLS_HEADER CELLS_MARK MAX_CELL_BYTES BAN BAN_SIZE

local call, unpack = redis.call, struct.unpack
local KEYS = KEYS
--%constants
local places, never = {}, string.rep('\0', 8 * BAN_SIZE)

-- Everything is read before anything is written, as in decide.lua.
for i = 1, #KEYS do
  local value = call('GETRANGE', KEYS[i], '0', string.format('%.0f', MAX_CELL_BYTES - 1))
  local mark = #value > CELLS_HEADER and unpack('>I4', value, 5) or 0
  local place = CELLS_HEADER + 5 * (mark % 16)
  if mark >= CELLS_MARK and place <= #value then -- the value begins with cells
    for c = 1, mark % 16 do
      local fingerprint, size = unpack('>I4B', value, CELLS_HEADER - 4 + 5 * c)
      if fingerprint == BAN and size == BAN_SIZE and place + 8 * BAN_SIZE <= #value then
        places[#places + 1] = { KEYS[i], string.format('%.0f', place) }
      end
      place = place + 8 * size
    end
  end
end
for _, place in ipairs(places) do
  call('SETRANGE', place[1], place[2], never)
end
return #places
