// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.memory.CellArray.BanState;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.Mode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The part of a {@link ChargeEvaluation} without the log: the rules that keep numbers, and the ban.
 */
final class CellEvaluation {

  private static final Cell[] NONE = {};

  private final RuleStack rules;
  private final int cost;
  private final boolean observed;
  private final Optional<BanRule> ban;

  /** The cell of each rule. */
  private Cell[] read = NONE;

  /** Cells that belong to no rule of this stack. */
  private List<Cell> others = List.of();

  /** The cells if the call is admitted; some may be missing if it is not. */
  private Cell[] taken = NONE;

  /**
   * Of rules of an algorithm of the application, which is asked once. Other readouts are made again
   * when a verdict is read, which most calls do not do: cells are immutable.
   */
  private CellReadout @Nullable [] readouts;

  private Mode mode = Mode.ACQUIRE;
  private @Nullable BanState banState;
  private long nowMicros;
  private long shiftMicros;
  private long banMicros;
  private boolean nearer;

  CellEvaluation(Charge charge) {
    cost = charge.cost();
    observed = charge.observed();
    rules = charge.stack();
    ban = rules.ban();
  }

  /**
   * Reads the cells.
   *
   * @param admitted whether the log of the same charge admits the call
   * @return whether the whole charge admits it
   */
  boolean read(@Nullable CellArray cells, long clockMicros, Mode by, boolean admitted) {
    mode = by;
    nowMicros = cells == null ? clockMicros : cells.nowMicros(clockMicros);
    shiftMicros = nowMicros - clockMicros;
    Cell[] known = CellArray.all(cells);
    if (areOwn(known)) {
      read = known; // the usual case
    } else {
      find(known, cells == null ? nowMicros : cells.newestMicros());
    }
    boolean passes = admitted;
    taken = new Cell[rules.cells()];
    readouts = rules.custom() ? new CellReadout[taken.length] : null;
    for (int c = 0; c < taken.length; c++) {
      CellReadout readout = read[c].read(rules.cellRule(c), nowMicros, cost, mode);
      if (readouts != null) {
        readouts[c] = readout;
      }
      passes &= mode == Mode.RECORD || readout.admits();
      if (passes && mode != Mode.PEEK) {
        taken[c] = readout.taken();
      }
    }
    if (ban.isPresent()) {
      banState = cells == null || cells.ban() == null ? BanState.NONE : cells.ban();
      boolean enforced = !observed || mode == Mode.RECORD;
      return enforced ? readBan(ban.get(), banState, mode, passes) : passes;
    }
    return passes;
  }

  private boolean areOwn(Cell[] known) {
    if (known.length != rules.cells()) {
      return false;
    }
    for (int c = 0; c < known.length; c++) {
      if (!known[c].serves(rules.cellRule(c))) {
        return false;
      }
    }
    return true;
  }

  /**
   * Finds the cell of each rule, and those of others. A rule without one starts from the cell of
   * its kind that is needed for about as long and that no other rule continues.
   */
  private void find(Cell[] known, long newestMicros) {
    read = new Cell[rules.cells()];
    boolean[] seen = new boolean[known.length];
    boolean[] begun = new boolean[read.length];
    for (int c = 0; c < read.length; c++) {
      int place = CellArray.find(known, rules.cellRule(c), seen);
      read[c] = place < 0 ? Cell.unused(rules.cellRule(c)) : known[place];
      begun[c] = place >= 0;
      if (place >= 0) {
        seen[place] = true;
      }
    }
    boolean[] gone = seen.clone();
    for (int c = 0; c < read.length; c++) {
      int place = begun[c] ? -1 : nearest(known, read[c], gone);
      if (place >= 0) {
        gone[place] = true;
        read[c] = read[c].startedFrom(known[place], nowMicros, newestMicros);
      }
    }
    others = known.length == 0 ? List.of() : new ArrayList<>();
    for (int i = 0; i < seen.length; i++) {
      if (!seen[i]) {
        others.add(known[i]);
      }
    }
  }

  private static int nearest(Cell[] known, Cell unused, boolean[] gone) {
    int exponent = Cell.exponent(unused.longestMemoryMicros());
    int kind = unused.algorithm().kind();
    int least = Integer.MAX_VALUE;
    int nearest = -1;
    for (int i = 0; i < gone.length; i++) {
      int off = Math.abs(Cell.exponent(known[i].longestMemoryMicros()) - exponent);
      if (!gone[i] && kind > 0 && known[i].algorithm().kind() == kind && off < least) {
        nearest = i;
        least = off;
      }
    }
    return nearest;
  }

  private boolean readBan(BanRule bans, BanState known, Mode mode, boolean passes) {
    banMicros = known.restMicros(bans, nowMicros);
    if (banMicros == 0 && mode == Mode.ACQUIRE && !passes) {
      banState = known.violated(bans, nowMicros);
      banMicros = banState.restMicros(bans, nowMicros);
      nearer = true;
    }
    return passes && (banMicros == 0 || mode == Mode.RECORD);
  }

  /**
   * @param place the index of the rule among those that keep numbers
   */
  CellReadout readout(int place) {
    return readouts == null
        ? read[place].read(rules.cellRule(place), nowMicros, cost, mode)
        : readouts[place];
  }

  long banMicros() {
    return banMicros;
  }

  /** Writes the cells of an admitted call; creates them if there are none. */
  CellArray take(@Nullable CellArray cells) {
    return write(cells, taken);
  }

  /** Writes the cells with past units. */
  CellArray record(@Nullable CellArray cells) {
    for (int c = 0; c < taken.length; c++) {
      taken[c] = read[c].recorded(rules.cellRule(c), nowMicros, cost);
    }
    return write(cells, taken);
  }

  /**
   * Writes the cells of a denied call. It may count as a violation, and it starts time for a
   * subject that has to wait for its first tokens. If the clock was set back, the shift is written
   * too: otherwise a full window would stay full until the clock reaches its old time.
   *
   * @return the cells to keep; null if they are those that were read
   */
  @Nullable CellArray deny(@Nullable CellArray cells) {
    boolean changed = nearer;
    for (int c = 0; c < taken.length; c++) {
      changed |= readout(c).denied(read[c]) != read[c];
    }
    if (changed) {
      Cell[] after = new Cell[taken.length];
      for (int c = 0; c < after.length; c++) {
        after[c] = readout(c).denied(read[c]).under(rules.cellRule(c));
      }
      return write(cells, after);
    }
    if (cells != null) {
      cells.shiftTo(shiftMicros);
    }
    return null;
  }

  private CellArray write(@Nullable CellArray cells, Cell[] written) {
    CellArray into = cells == null ? new CellArray() : cells;
    into.write(written, others, ban, banState, nowMicros, shiftMicros);
    return into;
  }

  /**
   * Gives back the units that {@link #take} took, except {@code kept}. Returns how many of them
   * were still there.
   */
  int giveBack(CellArray cells, int kept, long clockMicros) {
    int[] took = new int[rules.cells()];
    int[] units = new int[took.length];
    long departureParts = 0;
    for (int c = 0; c < took.length; c++) {
      CellReadout readout = readout(c);
      took[c] = (int) readout.units();
      units[c] = Math.max(0, took[c] - kept);
      departureParts = Math.max(departureParts, readout.departureParts());
    }
    return cells.giveBack(rules, nowMicros, units, took, departureParts, clockMicros);
  }
}
