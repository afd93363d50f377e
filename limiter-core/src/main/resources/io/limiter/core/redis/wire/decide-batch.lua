-- SPDX-License-Identifier: Apache-2.0
--
-- Decides several calls one after another, each by itself: as decide.lua would at the same time. If one fails, such as
-- for a key of another type, the others are decided all the same. All calls that meet in one turn of an event loop are
-- one command, which Redis parses and looks up once.
--
-- KEYS         those of all calls, one call after another
-- ARGV[1]      for each call: how many charges and how many keys it has (B, B), then for each charge the number of its
--              plan (B), from 1 on
-- ARGV[2p]     the plan with the number p, as in decide.lua. A plan that several charges have is sent once
-- ARGV[2p + 1] time to live of its values in ms, as text
--
-- Returns an array: for each call the reply or the error of decide.lua.
--
-- Constants, functions and variables of the sections of decide.lua:
-- luacheck: read globals ARGV KEYS
-- luacheck: globals reply

--%decide.preamble
local reply
local charges, keys, keyOffset, arguments, age = 0, KEYS, 0, {}, 0 -- luacheck: ignore 241 (the section reads them)

local function decide()
  --%decide.decision
  return reply
end

local replies, layout = {}, ARGV[1]
local layoutPos = 1
while layoutPos <= #layout do
  local keyCount
  charges, keyCount = string.byte(layout, layoutPos, layoutPos + 1)
  for c = 1, charges do
    local planPos = 2 * string.byte(layout, layoutPos + 1 + c)
    arguments[2 * c - 1], arguments[2 * c] = ARGV[planPos], ARGV[planPos + 1]
  end
  local decided, result = pcall(decide)
  layoutPos, keyOffset = layoutPos + 2 + charges, keyOffset + keyCount
  if not decided and type(result) ~= 'table' then -- an error of Lua, or of a command before Redis 7
    result = redis.error_reply(string.find(result, '^%u+ ') and result or 'ERR ' .. result)
  end
  replies[#replies + 1] = result
end
return replies
