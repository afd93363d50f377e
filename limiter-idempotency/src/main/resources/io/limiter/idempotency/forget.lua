-- SPDX-License-Identifier: Apache-2.0
--
-- Forgets a submission, whichever claim has made its value.
--
-- KEYS[1]  the submission, as in claim.lua

redis.call('DEL', KEYS[1])
return 'K'
