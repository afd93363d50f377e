-- SPDX-License-Identifier: Apache-2.0
-- Numbers that the scripts share, with the Java code too: ScriptSourceTest compares them.
local EXACT = 9007199254740992 -- 2^53; no time is as late
local LONGEST = 31622400000000 -- 366 days; no window is longer
local GRACE = 1000000 -- as long as a key outlives what it is needed for
local DENSE = 118 -- units at most in a dense log: with any header less than a page
local CELLS = 2147483648 -- 2^31: the mark of cells
local SECONDS = 134217728 -- 2^27: cells are needed for fewer
local MOST_CELLS, MOST_BYTES = 14, 1023 -- of all stacks together, without the cell that describes them; with it
local BAN, DATA = 9, 10 -- prints: of a ban, and of the first cell, which describes the others
