-- SPDX-License-Identifier: Apache-2.0
--
-- Claims a submission, and keeps its answer. Each operation reads and writes one value, reads before it writes, and
-- sets a time to live with every value. Redis' clock ends a claim, and nothing else is compared with a clock.
--
-- KEYS[1]  the claim or the answer of one submission
-- ARGV[1]  operation: 'claim', 'renew', 'answer', 'release' or 'forget'
-- ARGV[2]  token of the claim: 16 bytes; none to forget
-- ARGV[3]  time to live in ms, as text: of the claim, or of the answer
-- ARGV[4]  'claim': fingerprint of the submission, 32 bytes. 'answer': the answer, any bytes
--
-- A value is RUNNING or ANSWERED (1 byte), the token of its claim (16 bytes), the fingerprint (32 bytes), and, if it is
-- ANSWERED, the answer.
--
-- 'claim' returns CLAIMED; DIFFERENT if another fingerprint is stored; else RUNNING or ANSWERED, the remaining time to
-- live in ms (d), and the answer if there is one. The other operations return 1 if they found what they need, else 0.
--
-- submit.lua includes the two sections between "begin" and "end".

local call, sub, pack = redis.call, string.sub, struct.pack
local submission, operation, token, ttl, fingerprint = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
--%begin states
local RUNNING, ANSWERED, CLAIMED, DIFFERENT = 'R', 'A', 'C', 'D'
--%end states

if operation == 'claim' then
  --%begin look
  -- Both are read in any case: a user who may not run one of them writes nothing.
  local found, left = call('GET', submission), call('PTTL', submission)
  local claimState = found and sub(found, 1, 1)
  if found then
    local isValid = claimState == RUNNING and #found == 49 or claimState == ANSWERED and #found >= 49
    if not isValid or left == -1 then -- not written by these scripts: without an end it would block for ever
      call('DEL', submission)
      return redis.error_reply('ERR corrupt value deleted')
    end
    if sub(found, 18, 49) ~= fingerprint then return DIFFERENT end
  end
  --%end look
  if found then return claimState .. pack('>d', left) .. sub(found, 50) end
  call('SET', submission, RUNNING .. token .. fingerprint, 'PX', ttl)
  return CLAIMED
end

if operation == 'forget' then return call('DEL', submission) end

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
