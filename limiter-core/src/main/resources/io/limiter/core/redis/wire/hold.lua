-- SPDX-License-Identifier: Apache-2.0
--
-- Keeps a submission for longer: it is claimed for a short time when its call begins. decide.lua describes the value,
-- which has one unit.
--
-- KEYS[1]  the duplicate guard of the submission
-- ARGV[1]  stamp of the unit (d): another submission that was accepted since has another one
-- ARGV[2]  time to live in ms, as text. A longer one stays, so that a renewal may come after the end of the call
--
-- Returns 1, or 0 if the submission is not there any more.

local call, submission, ttl = redis.call, KEYS[1], ARGV[2]
if call('GETRANGE', submission, '-8', '-1') ~= ARGV[1] then return 0 end
if call('PTTL', submission) < tonumber(ttl) then call('PEXPIRE', submission, ttl) end
return 1
