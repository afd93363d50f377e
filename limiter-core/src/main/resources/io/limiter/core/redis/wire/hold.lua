-- SPDX-License-Identifier: Apache-2.0
--
-- Keeps the duplicate guard of a call for longer, while the call runs and when it has ended.
--
-- KEYS[1]  the duplicate guard of one submission
-- ARGV[1]  stamp of the unit (d), as decide.lua describes it: another submission that was accepted since has another
--          one
-- ARGV[2]  time to live in ms, as text; 0 frees the guard
-- ARGV[3]  1 if the call has ended; else 0, and a longer time to live stays
--
-- Returns 1 if the guard has the unit, else 0.

local call, guard, ttl = redis.call, KEYS[1], ARGV[2]
if call('GETRANGE', guard, '-8', '-1') ~= ARGV[1] then return 0 end
if ARGV[3] == '1' or call('PTTL', guard) < tonumber(ttl) then call('PEXPIRE', guard, ttl) end
return 1
