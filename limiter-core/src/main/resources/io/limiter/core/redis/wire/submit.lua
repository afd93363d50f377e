-- SPDX-License-Identifier: Apache-2.0
--
-- Decides a call, and claims its submission if the call is admitted. A submission that runs or was answered is charged
-- nothing: not even a limit that is used up denies it. A submission that is only compared is decided like any call, and
-- its fingerprint is kept if the call is admitted; only another submission with its key is charged nothing.
--
-- KEYS[1]      the submission, as in idempotency.lua; then those of decide.lua
-- ARGV         those of decide.lua; then:
-- ARGV[n - 1]  token and fingerprint of the claim: 16 and 32 bytes. Without a token it is only compared
-- ARGV[n]      time to live of the claim in ms, as text
--
-- Returns CLAIMED or UNCLAIMED and the reply of decide.lua; or, for a submission that is there, what
-- idempotency.lua returns.
--
-- Defined by the included sections:
-- luacheck: read globals call sub pack RUNNING CLAIMED found left claimState admitted

--%decide.preamble
local submission, claim, ttlOfClaim = KEYS[1], ARGV[#ARGV - 1], ARGV[#ARGV]
local isCompared = #claim == 32
local fingerprint = sub(claim, -32)
--%idempotency.states
local UNCLAIMED, NO_TOKEN = 'N', string.rep('\0', 16)
--%idempotency.look
if found and not isCompared then return claimState .. pack('>d', left) .. sub(found, 50) end
local reply
local charges, keys, keyOffset, arguments, age = #ARGV / 2 - 1, KEYS, 1, ARGV, 0
--%decide.decision
if not admitted then return UNCLAIMED .. reply end
call('SET', submission, RUNNING .. (isCompared and NO_TOKEN .. claim or claim), 'PX', ttlOfClaim)
return (isCompared and UNCLAIMED or CLAIMED) .. reply
