// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
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

  private final Rule[] rules;
  private final int cost;
  private final boolean observed;
  private final Optional<BanRule> ban;

  /** The cell of each rule. */
  private Cell[] read;

  /** Cells that belong to no rule of this stack. */
  private List<Cell> others = List.of();

  private final CellReadout[] gauges;
  private @Nullable BanState banState;
  private long now;
  private long shift;
  private long bannedFor;
  private boolean nearer;

  CellEvaluation(Charge charge) {
    RuleStack stack = charge.stack();
    cost = charge.cost();
    observed = charge.observed();
    ban = stack.ban();
    rules = new Rule[stack.rules().size() - stack.shape().logs()];
    read = new Cell[rules.length];
    gauges = new CellReadout[rules.length];
    for (int r = 0; r < stack.rules().size(); r++) {
      if (!stack.shape().isLog(r)) {
        rules[stack.shape().place(r)] = stack.rules().get(r);
      }
    }
  }

  /**
   * Reads the cells.
   *
   * @param admitted whether the log of the same charge admits the call
   * @return whether the whole charge admits it
   */
  boolean read(@Nullable CellArray cells, long clock, Mode mode, boolean admitted) {
    now = cells == null ? clock : cells.now(clock);
    shift = now - clock;
    Cell[] known = CellArray.all(cells);
    if (areOwn(known)) {
      read = known; // the usual case
    } else {
      find(known, cells == null ? now : cells.newest());
    }
    boolean passes = admitted;
    for (int c = 0; c < rules.length; c++) {
      gauges[c] = read[c].read(rules[c], now, cost, mode);
      passes &= mode == Mode.RECORD || gauges[c].left() >= cost;
    }
    if (ban.isPresent()) {
      banState = cells == null || cells.ban() == null ? BanState.NONE : cells.ban();
      boolean enforced = !observed || mode == Mode.RECORD;
      return enforced ? readBan(ban.get(), banState, mode, passes) : passes;
    }
    return passes;
  }

  private boolean areOwn(Cell[] known) {
    if (known.length != rules.length) {
      return false;
    }
    for (int c = 0; c < rules.length; c++) {
      if (!known[c].serves(rules[c])) {
        return false;
      }
    }
    return true;
  }

  /**
   * Finds the cell of each rule, and those of others. A rule without one starts from the cell of
   * its kind that is needed for about as long and that no other rule continues.
   */
  private void find(Cell[] known, long newest) {
    boolean[] seen = new boolean[known.length];
    boolean[] begun = new boolean[rules.length];
    for (int c = 0; c < rules.length; c++) {
      int place = CellArray.find(known, rules[c], seen);
      read[c] = place < 0 ? Cell.unused(rules[c]) : known[place];
      begun[c] = place >= 0;
      if (place >= 0) {
        seen[place] = true;
      }
    }
    boolean[] gone = seen.clone();
    for (int c = 0; c < rules.length; c++) {
      int place = begun[c] ? -1 : nearest(known, read[c], rules[c], gone);
      if (place >= 0) {
        gone[place] = true;
        read[c] = Cell.started(rules[c], known[place], now, newest);
      }
    }
    others = known.length == 0 ? List.of() : new ArrayList<>();
    for (int i = 0; i < seen.length; i++) {
      if (!seen[i]) {
        others.add(known[i]);
      }
    }
  }

  private static int nearest(Cell[] known, Cell unused, Rule rule, boolean[] gone) {
    int exponent = Cell.exponent(Cell.longestMemoryMicros(rule));
    int least = Integer.MAX_VALUE;
    int nearest = -1;
    for (int i = 0; i < gone.length; i++) {
      int off = Math.abs(Cell.exponent(known[i].memoryMicros()) - exponent);
      if (!gone[i] && unused.kind() > 0 && known[i].kind() == unused.kind() && off < least) {
        nearest = i;
        least = off;
      }
    }
    return nearest;
  }

  private boolean readBan(BanRule bans, BanState known, Mode mode, boolean passes) {
    bannedFor = known.rest(bans, now);
    if (bannedFor == 0 && mode == Mode.ACQUIRE && !passes) {
      banState = known.violated(bans, now);
      bannedFor = banState.rest(bans, now);
      nearer = true;
    }
    return passes && (bannedFor == 0 || mode == Mode.RECORD);
  }

  /**
   * @param place the index of the rule among those that keep numbers
   */
  CellReadout gauge(int place) {
    return gauges[place];
  }

  long bannedFor() {
    return bannedFor;
  }

  /** Writes the cells of an admitted call; creates them if there are none. */
  CellArray take(@Nullable CellArray cells) {
    Cell[] taken = new Cell[gauges.length];
    for (int c = 0; c < taken.length; c++) {
      taken[c] = gauges[c].taken();
    }
    return write(cells, taken);
  }

  /** Writes the cells with past units. */
  CellArray record(@Nullable CellArray cells) {
    Cell[] taken = new Cell[gauges.length];
    for (int c = 0; c < taken.length; c++) {
      taken[c] = read[c].recorded(rules[c], now, cost);
    }
    return write(cells, taken);
  }

  /**
   * Writes the cells of a denied call. It may count as a violation, and it starts time for a
   * subject that has to wait for its first tokens. If the clock was set back, the shift is written
   * too: otherwise a full window would stay full until the clock reaches its old time.
   */
  @Nullable CellArray refuse(@Nullable CellArray cells) {
    Cell[] left = new Cell[gauges.length];
    boolean changed = nearer;
    for (int c = 0; c < left.length; c++) {
      left[c] = gauges[c].refused(read[c]);
      changed |= left[c] != read[c];
    }
    if (changed) {
      for (int c = 0; c < left.length; c++) {
        left[c] = left[c].under(rules[c]);
      }
      return write(cells, left);
    }
    if (cells != null) {
      cells.shiftTo(shift);
    }
    return cells;
  }

  private CellArray write(@Nullable CellArray cells, Cell[] written) {
    CellArray into = cells == null ? new CellArray() : cells;
    into.write(written, others, ban, banState, now, shift);
    return into;
  }

  /**
   * Gives back the units that {@link #take} took, except {@code kept}. Returns how many of them
   * were still there.
   */
  int giveBack(CellArray cells, int kept, long clock) {
    int[] taken = new int[gauges.length];
    int[] units = new int[gauges.length];
    long waits = 0;
    for (int c = 0; c < gauges.length; c++) {
      taken[c] = (int) gauges[c].units();
      units[c] = Math.max(0, taken[c] - kept);
      waits = Math.max(waits, gauges[c].departure());
    }
    return cells.giveBack(rules, now, units, taken, waits, clock);
  }
}
