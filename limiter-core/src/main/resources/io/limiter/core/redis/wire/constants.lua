-- SPDX-License-Identifier: Apache-2.0
-- Constants of all scripts. DecisionScripts replaces their names by the numbers, so that they cost a script no time.
-- ScriptSourceTest compares them with the Java code.

local EXACT = 9007199254740992 -- 2^53: every stored number is less, so that doubles are exact

-- Modes of a charge, the first byte of a plan.
local PEEK, ACQUIRE, LEASE, RECORD, OBSERVE = 0, 1, 2, 3, 4
-- The longest time for which a lease lasts, in microseconds: no unit of a log is newer than the clock by more.
local LONGEST_LEASE = 10000000

-- Lengths in bytes: the fixed part of a plan and what a ban adds; the fixed part of a head, without and with a log.
local PLAN_HEADER, BAN_PLAN, HEAD, LOG_HEAD = 17, 40, 32, 36
-- Where a plan has a ban: beside the rules, or alone.
local BESIDE, ALONE = 1, 2
-- The most units that an exact-size log has. With the longest head of a log it is shorter than a page.
local EXACT_SIZE_UNITS = 118
-- Bytes: a log is read by pages; so much is read first of a value with cells. As text, each is written in a script as
-- the last byte, one less.
local PAGE, FIRST_READ = 1024, 2048
-- Microseconds by which a key may outlive the need for it: more than any rule needs. A value that claims more was not
-- written by these scripts.
local LONGEST_LIFE = 134217728000000

-- How the gap of a leaky bucket is packed into one number (leaky-bucket.lua): 2^17, 2^34.
local GAP_LENGTH_UNIT, GAP_FIRST_UNIT = 131072, 17179869184
-- The most that any leaky bucket may have: microseconds to wait, departures in that time, and units that wait.
local MAX_WAIT, MAX_DEPARTURES, MAX_QUEUE = 300000000, 120000, 10000
