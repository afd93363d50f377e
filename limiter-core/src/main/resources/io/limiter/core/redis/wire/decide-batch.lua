-- SPDX-License-Identifier: Apache-2.0
--
-- Decides several calls one after another, each by itself: as decide.lua would at the same time. If one fails, such as
-- for a key of another type, the others are decided all the same. All calls that meet in one turn of an event loop are
-- one command, which Redis parses and looks up once.
--
-- KEYS         those of all calls, one call after another
-- ARGV[1]      for each call: how many keys it has (B), then for each of them the number of its plan (B), from 1 on
-- ARGV[2p]     the plan with the number p, as in decide.lua, without groups of units. A plan that several keys have is
--              sent once
-- ARGV[2p + 1] time to live of its keys in ms, as text
--
-- Returns an array: for each call the reply or the error of decide.lua.
--
-- Constants, functions and variables of the sections of decide.lua:
-- luacheck: read globals byte ARGV KEYS
-- luacheck: globals reply

--%decide.preamble
local reply
-- What decide.lua sets for each group; here there is only the call itself.
local group, age, marker, groupUnits = 0, 0, false, 0
local keyCount, keys, arguments = 0, {}, {} -- luacheck: ignore 241 (the section reads them)

local function decide()
  --%decide.decision
  return reply
end

local replies, layout = {}, ARGV[1]
local layoutPos, keyPos = 1, 0
while layoutPos <= #layout do
  keyCount = byte(layout, layoutPos)
  for k = 1, keyCount do
    local planPos = 2 * byte(layout, layoutPos + k)
    keys[k], arguments[2 * k - 1], arguments[2 * k] = KEYS[keyPos + k], ARGV[planPos], ARGV[planPos + 1]
  end
  layoutPos, keyPos = layoutPos + 1 + keyCount, keyPos + keyCount
  local decided, result = pcall(decide)
  if not decided and type(result) ~= 'table' then -- an error of Lua, or of a command before Redis 7
    result = redis.error_reply(string.find(result, '^%u+ ') and result or 'ERR ' .. result)
  end
  replies[#replies + 1] = result
end
return replies
