-- SPDX-License-Identifier: Apache-2.0
--
-- Decides a call, and claims its submission if the call is admitted. A submission that runs or was answered is charged
-- nothing: not even a limit that is used up denies it.
--
-- KEYS[1]      the submission, as in idempotency.lua; then those of decide.lua
-- ARGV         those of decide.lua; then:
-- ARGV[n - 1]  token and fingerprint of the claim: 16 and 32 bytes
-- ARGV[n]      time to live of the claim in ms, as text
--
-- Returns CLAIMED or DENIED and the reply of decide.lua; or, for a submission that is there, what
-- idempotency.lua returns.
--
-- Defined by the included sections:
-- luacheck: read globals call sub RUNNING CLAIMED admitted

--%decide.preamble
local submission, claim, ttlOfClaim = KEYS[1], ARGV[#ARGV - 1], ARGV[#ARGV]
local fingerprint = sub(claim, 17)
--%idempotency.states
local DENIED = 'N'
--%idempotency.look
local reply
local charges, keys, keyOffset, arguments, age = #ARGV / 2 - 1, KEYS, 1, ARGV, 0
--%decide.decision
if not admitted then return DENIED .. reply end
call('SET', submission, RUNNING .. claim, 'PX', ttlOfClaim)
return CLAIMED .. reply
