-- SPDX-License-Identifier: Apache-2.0
--
-- Renews concurrency permits: gives the units of calls back, also those that have expired, and records them with the
-- present time. No rule is evaluated, and no other unit has to go.
--
-- KEYS[i]      the value of one subject; calls in flight never have cells
-- ARGV[i]      as in refund.lua; the plan has the mode RECORD, and needs any number of units
-- ARGV[n + i]  time to live of the key in ms, as text
--
-- Returns for each value the new time of its units (d).
--
-- Defined by the included sections:
-- luacheck: read globals sub

--%decide.preamble
--%refund.units
local reply
local charges, keys, keyOffset, arguments, age = #KEYS, KEYS, 0, {}, 0 -- luacheck: ignore 241 (the section reads them)
for i = 1, charges do arguments[2 * i - 1], arguments[2 * i] = sub(ARGV[i], 25), ARGV[charges + i] end
--%decide.decision
local times, pos = '', 2
for i = 1, charges do
  times, pos = times .. sub(reply, pos, pos + 7), pos + 17 + 12 * math.floor(string.byte(ARGV[i], 30) / 16)
end
return times
