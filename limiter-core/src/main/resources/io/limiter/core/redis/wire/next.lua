-- SPDX-License-Identifier: Apache-2.0
-- The place in the plan behind the algorithm and numbers of a cell.
code = code + (algorithm == 3 and 49 or algorithm < 3 and 17 or algorithm < 6 and 33 or algorithm < 64 and 41
  or 27 + 8 * byte(plan, code + 26))
