-- SPDX-License-Identifier: Apache-2.0
--
-- Decides a call, and claims its submission if the call is admitted. A submission that runs or was answered is charged
-- nothing: not even a limit that is used up denies it. A submission that is only compared is decided like any call, and
-- its fingerprint is kept if the call is admitted; only another submission with its key is charged nothing. So it is
-- with a repetition that is to be charged, which leaves what is there.
--
-- KEYS[1]      the submission, as in idempotency.lua; then those of decide.lua
-- ARGV         those of decide.lua; then:
-- ARGV[n - 1]  token and fingerprint of the claim: 16 and 32 bytes. Without a token it is only compared. PAID before
--              them if a repetition is charged
-- ARGV[n]      time to live of the claim in ms, as text
--
-- Returns CLAIMED or UNCLAIMED and the reply of decide.lua; or, for a submission that is there, what
-- idempotency.lua returns; or, if it is charged, PAID, the length of the reply of decide.lua (I4), that reply, and what
-- idempotency.lua returns.
--
-- Defined by the included sections:
-- luacheck: read globals call sub pack RUNNING CLAIMED found left claimState admitted

--%decide.preamble
local submission, claim, ttlOfClaim = KEYS[1], ARGV[#ARGV - 1], ARGV[#ARGV]
local isCompared, isCharged = #claim == 32, #claim == 49
local fingerprint = sub(claim, -32)
--%idempotency.states
local UNCLAIMED, PAID, NO_TOKEN = 'N', 'P', string.rep('\0', 16)
--%idempotency.look
local repetition = found and not isCompared and claimState .. pack('>d', left) .. sub(found, 50)
if repetition and not isCharged then return repetition end
local reply
local charges, keys, keyOffset, arguments, age = #ARGV / 2 - 1, KEYS, 1, ARGV, 0
--%decide.decision
if not admitted then return UNCLAIMED .. reply end
if repetition then return PAID .. pack('>I4', #reply) .. reply .. repetition end
call('SET', submission, RUNNING .. (isCompared and NO_TOKEN .. claim or sub(claim, -48)), 'PX', ttlOfClaim)
return (isCompared and UNCLAIMED or CLAIMED) .. reply
