-- SPDX-License-Identifier: Apache-2.0
-- Constants of all scripts. DecisionScripts replaces their names by the numbers, so that they cost a script no time.
-- ScriptSourceTest compares them with the Java code.

local EXACT = 9007199254740992 -- 2^53: every stored number is less, so that doubles are exact
local MAX_WINDOW = 31622400000000 -- 366 days in microseconds: no window is longer

-- Modes of a charge, the lowest two bits of a plan's first byte.
local PEEK, ACQUIRE, RECORD, OBSERVE = 0, 1, 2, 3

-- Lengths in bytes: the fixed part of a plan, of a log's header, and of the header of cells.
local PLAN_HEADER, LOG_HEADER, CELLS_HEADER = 16, 37, 24

-- Byte 37 of a log. PLAIN_HEADER plus the number of rules marks a plain header. A shared header has the place of eight
-- cursors, the most that a plain header has.
local PLAIN_HEADER, SHARED_HEADER = 16, 24
-- The most units that an exact-size log has. With any header it is shorter than a page of 1,024 bytes.
local EXACT_SIZE_UNITS = 118

-- The second number of a value is 2^31 or more if it begins with cells. A cell is needed for fewer seconds than 2^27.
local CELLS_MARK, SECONDS_LIMIT = 2147483648, 134217728
-- The most cells under one key, of all stacks, without the cell that describes them; their most bytes, with it.
local MAX_CELLS, MAX_CELL_BYTES = 14, 1023

-- The algorithm of a ban, and its fingerprint. The numbers of the others come from the Java table CellAlgorithm.
local BAN = 9
-- The fingerprint of the first cell, which describes the others.
local DESCRIPTION = 10
-- A ban has so many numbers.
local BAN_SIZE = 4
-- How the gap of a leaky bucket is packed into one number (leaky-bucket.lua): 2^17, 2^34.
local GAP_LENGTH_UNIT, GAP_FIRST_UNIT = 131072, 17179869184
-- The most that any leaky bucket may have: microseconds to wait, departures in that time, and units that wait.
local MAX_WAIT, MAX_DEPARTURES, MAX_QUEUE = 300000000, 120000, 10000

-- Bytes: a log is read by pages; so much is read first of a value with cells and a log. As text, each is written in a
-- script as the last byte, one less. A shorter value is neither a log nor cells.
local PAGE, FIRST_READ, SHORTEST_VALUE = 1024, 2048, 45

-- The most overrides, and fields of a hash: so that a script that reads them all takes less than a millisecond.
local MAX_OVERRIDES, MAX_FIELDS = 1000, 4000
