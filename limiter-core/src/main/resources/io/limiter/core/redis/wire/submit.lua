-- SPDX-License-Identifier: Apache-2.0
--
-- Claims a submission, and decides its call, if it has charges. The submission is claimed if the call is admitted. A
-- submission that runs or was answered is charged nothing: not even a limit that is used up denies it. A submission
-- that is only compared is decided like any call, and its fingerprint is kept if the call is admitted; only another
-- submission with its key is charged nothing. So it is with a repetition that is to be charged, which leaves what is
-- there.
--
-- KEYS[1]      the submission, as in idempotency.lua; then those of decide.lua
-- ARGV         those of decide.lua; then:
-- ARGV[n - 1]  token and fingerprint of the claim: 16 and 32 bytes. Without a token it is only compared. PAID before
--              them if a repetition is charged
-- ARGV[n]      time to live of the claim in ms, as text
--
-- Returns CLAIMED or UNCLAIMED and the reply of decide.lua. For a submission that is there: DIFFERENT if another
-- fingerprint is stored; else RUNNING or ANSWERED, the remaining time to live in ms (d), and the answer if there is
-- one; if the repetition is charged, PAID, the length of the reply of decide.lua (I4) and that reply before them.
--
-- Defined by the included section:
-- luacheck: read globals call sub pack admitted

--%decide.preamble
local RUNNING, ANSWERED, CLAIMED, DIFFERENT, UNCLAIMED, PAID = 'R', 'A', 'C', 'D', 'N', 'P'
local submission, claim, ttlOfClaim = KEYS[1], ARGV[#ARGV - 1], ARGV[#ARGV]
local isCompared, isCharged = #claim == 32, #claim == 49
-- Both are read in any case: a user who may not run one of them writes nothing.
local found, left = call('GET', submission), call('PTTL', submission)
local repetition
if found then
  local state = sub(found, 1, 1)
  local isValid = state == RUNNING and #found == 49 or state == ANSWERED and #found >= 49
  if not isValid or left == -1 then -- not written by these scripts: without an end it would block for ever
    call('DEL', submission)
    return redis.error_reply('ERR corrupt value deleted')
  end
  if sub(found, 18, 49) ~= sub(claim, -32) then return DIFFERENT end
  if not isCompared then repetition = state .. pack('>d', left) .. sub(found, 50) end
  if repetition and not isCharged then return repetition end
end
local reply = ''
local charges, keys, keyOffset, arguments, age = #ARGV / 2 - 1, KEYS, 1, ARGV, 0
--%decide.decision
if not admitted then return UNCLAIMED .. reply end
if repetition then return PAID .. pack('>I4', #reply) .. reply .. repetition end
call('SET', submission, RUNNING .. sub(string.rep('\0', 16) .. claim, -48), 'PX', ttlOfClaim)
return (isCompared and UNCLAIMED or CLAIMED) .. reply
