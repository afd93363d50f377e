// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.Mode;
import org.jspecify.annotations.Nullable;

/** The part of a {@link ChargeEvaluation} about the rules that keep numbers. */
final class CellEvaluation {

  private static final Cell[] NONE = {};

  private final RuleStack rules;
  private final int cost;

  /** The cell of each rule. */
  private Cell[] read = NONE;

  /** The cells if the call is admitted; some may be missing if it is not. */
  private Cell[] taken = NONE;

  /**
   * The readouts of custom algorithms, which are evaluated once. Other readouts are created again
   * when a verdict is read, which most calls do not do; cells are immutable.
   */
  private CellReadout @Nullable [] readouts;

  private Mode mode = Mode.ACQUIRE;
  private long nowMicros;
  private long leaseMicros;

  CellEvaluation(Charge charge) {
    cost = charge.cost();
    rules = charge.stack();
  }

  /** Evaluates the units of a lease. */
  void lease(long micros) {
    leaseMicros = micros;
  }

  /**
   * Reads the cells.
   *
   * @param known the cells of the key, by {@link RuleStack#cellIndex}; null if there are none
   * @param admitted whether the log of the same charge admits the call
   * @return whether all its rules admit it
   */
  boolean read(Cell @Nullable [] known, long atMicros, Mode by, boolean admitted) {
    mode = by;
    nowMicros = atMicros;
    read = known == null ? unused() : known;
    boolean passes = admitted;
    taken = new Cell[rules.cells()];
    readouts = rules.custom() ? new CellReadout[taken.length] : null;
    for (int c = 0; c < taken.length; c++) {
      CellReadout readout = evaluate(c);
      if (readouts != null) {
        readouts[c] = readout;
      }
      passes &= mode == Mode.RECORD || readout.admits();
      if (passes && mode != Mode.PEEK) {
        taken[c] = readout.taken();
      }
    }
    return passes;
  }

  private Cell[] unused() {
    Cell[] unused = new Cell[rules.cells()];
    for (int c = 0; c < unused.length; c++) {
      unused[c] = Cell.unused(rules.cellRule(c));
    }
    return unused;
  }

  /**
   * @param index the index of the rule among those that keep numbers
   */
  CellReadout readout(int index) {
    return readouts == null ? evaluate(index) : readouts[index];
  }

  private CellReadout evaluate(int index) {
    Rule rule = rules.cellRule(index);
    return leaseMicros > 0
        ? read[index].lease(rule, nowMicros, cost, leaseMicros)
        : read[index].read(rule, nowMicros, cost, mode);
  }

  /** For how long the units of a lease may be spent. */
  long leaseMicros() {
    long micros = leaseMicros;
    for (Cell cell : taken) {
      micros = Math.min(micros, cell.spendableUntilMicros(nowMicros) - nowMicros);
    }
    return micros;
  }

  /** The cells of an admitted call. */
  Cell[] taken() {
    return taken;
  }

  /** The cells with past units. */
  Cell[] recorded() {
    for (int c = 0; c < taken.length; c++) {
      taken[c] = read[c].recorded(rules.cellRule(c), nowMicros, cost);
    }
    return taken;
  }

  /**
   * The cells of a denied call: it starts time for a subject that has to wait for its first tokens.
   * Null if nothing changes.
   */
  Cell @Nullable [] denied() {
    Cell[] after = null;
    for (int c = 0; c < taken.length; c++) {
      Cell denied = readout(c).denied(read[c]);
      if (denied != read[c]) {
        after = after == null ? read.clone() : after;
        after[c] = denied;
      }
    }
    return after;
  }

  /**
   * Gives back the units that {@link #taken} took, except {@code kept}.
   *
   * @param lowered the cells that are stored, which are replaced
   * @param before the number of units that were given back before
   * @return the largest number of units given back to any cell that still had some
   */
  int giveBack(Cell[] lowered, int kept, int before, long laterMicros) {
    long departureParts = 0;
    for (int c = 0; c < lowered.length; c++) {
      departureParts = Math.max(departureParts, readout(c).departureParts());
    }
    int most = 0;
    for (int c = 0; c < lowered.length; c++) {
      int took = (int) readout(c).units();
      int units = took - kept;
      Cell cell = lowered[c];
      if (units > 0) {
        lowered[c] =
            cell.giveBack(
                rules.cellRule(c), nowMicros, units, took - before, departureParts, laterMicros);
        most = lowered[c] == cell ? most : Math.max(most, units);
      }
    }
    return most;
  }
}
