-- SPDX-License-Identifier: Apache-2.0
--
-- Keeps the claim of a submission, which submit.lua has written, or its answer; or a duplicate guard. Each operation
-- reads and writes one value, reads before it writes, and sets a time to live with every value. Redis' clock ends a
-- claim, and nothing else is compared with a clock.
--
-- KEYS[1]  the claim or the answer of one submission; to hold it, its duplicate guard
-- ARGV[1]  operation: 'renew', 'answer', 'release', 'forget' or 'hold'
-- ARGV[2]  token of the claim: 16 bytes; none to forget. 'hold': stamp of the unit (d), as decide.lua describes it:
--          another submission that was accepted since has another one
-- ARGV[3]  time to live in ms, as text: of the claim, of the answer, or of the guard. A longer one of a guard stays, so
--          that a renewal may come after the end of the call
-- ARGV[4]  'answer': the answer, any bytes
--
-- A value is RUNNING or ANSWERED (1 byte), the token of its claim (16 bytes), the fingerprint (32 bytes), and, if it is
-- ANSWERED, the answer.
--
-- Returns 1 if the operation found what it needs, else 0.

local call, sub = redis.call, string.sub
local submission, operation, token, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local RUNNING, ANSWERED = 'R', 'A'

if operation == 'forget' then return call('DEL', submission) end
if operation == 'hold' then
  if call('GETRANGE', submission, '-8', '-1') ~= token then return 0 end
  if call('PTTL', submission) < tonumber(ttl) then call('PEXPIRE', submission, ttl) end
  return 1
end

local value = call('GETRANGE', submission, '0', '48')
if #value < 49 or sub(value, 2, 17) ~= token then return 0 end
if sub(value, 1, 1) ~= RUNNING then -- it has its answer, which stays
  return operation == 'answer' and 1 or 0
end
if operation == 'answer' then
  call('SET', submission, ANSWERED .. sub(value, 2) .. ARGV[4], 'PX', ttl)
elseif operation == 'renew' then
  call('PEXPIRE', submission, ttl)
else
  call('DEL', submission)
end
return 1
