// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.RuleStack;
import java.util.List;

/**
 * The cells of a stack, by {@link RuleStack#cellIndex}. Their numbers are in one array, in the same
 * order for all stacks of one {@linkplain RuleStack#name() name}. Immutable; all subjects share it.
 */
public final class Cells {

  private final RuleStack stack;
  private final Cell[] cells;
  private final long[] unused;

  public Cells(RuleStack stack) {
    this.stack = stack;
    this.cells = new Cell[stack.cells()];
    int length = 0;
    for (int c = 0; c < cells.length; c++) {
      cells[c] = Cell.of(stack.cellRule(c), length);
      length += cells[c].size();
    }
    this.unused = new long[length];
    for (Cell cell : cells) {
      cell.clear(unused);
    }
  }

  /** Whether these are the cells of a stack. */
  public boolean areOf(RuleStack other) {
    return stack.equals(other);
  }

  public int count() {
    return cells.length;
  }

  public Cell get(int index) {
    return cells[index];
  }

  public List<Cell> all() {
    return List.of(cells);
  }

  /** The numbers of rules that are fully replenished; not to be modified. */
  public long[] unused() {
    return unused;
  }

  /**
   * The time from which all these rules are fully replenished, unless rules change.
   *
   * @param atLeastMicros the result, if that is later
   */
  public long neededUntilMicros(long[] state, long atLeastMicros) {
    long micros = atLeastMicros;
    for (Cell cell : cells) {
      micros = Math.max(micros, cell.neededUntilMicros(state) + stack.banMicros());
    }
    return micros;
  }
}
