// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellReadout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The state of one key beside its log: a {@link Cell} for each rule that keeps numbers, of all
 * stacks that have written cells still needed, and the ban. It has a time of its own, the clock
 * plus a shift, which never runs backwards: it continues from the last call that was admitted or
 * that counted as a violation. Guarded by its stripe.
 */
final class CellArray {

  private static final long UNKNOWN = Long.MIN_VALUE;

  private static final Cell[] NONE = {};

  /** First those of the stack that wrote last, then those of other stacks that may be needed. */
  private Cell[] cells = NONE;

  private int own;

  /** Null if no stack that wrote has a ban. */
  private @Nullable BanState ban;

  /** The ban rule when the state was written. */
  private @Nullable BanRule bannedBy;

  /** When the first cell was written: units taken earlier are not in the cells. */
  private long bornMicros = Long.MIN_VALUE;

  private long newestMicros;
  private long shiftMicros;

  /** Computed when the cells might have expired; {@link #UNKNOWN} until then. */
  private long neededUntilMicros = UNKNOWN;

  /** The time; never before the last call of {@link #write}. */
  long nowMicros(long clockMicros) {
    return Math.max(clockMicros + shiftMicros, newestMicros);
  }

  /** The time of the last write. */
  long newestMicros() {
    return newestMicros;
  }

  /** The clock at the last write. */
  long lastWriteClockMicros() {
    return newestMicros - shiftMicros;
  }

  /** The cells of all stacks, those of the one that wrote last first; not to be modified. */
  static Cell[] all(@Nullable CellArray cells) {
    return cells == null ? NONE : cells.cells;
  }

  @Nullable BanState ban() {
    return ban;
  }

  /** Forgets the ban and its violations. The key lives as long as with them, as in Redis. */
  void liftBan() {
    if (ban != null) {
      var unused = neededUntilMicros();
      ban = BanState.NONE;
    }
  }

  /** Sets the shift to use from now on, after the clock was set back. */
  void shiftTo(long micros) {
    shiftMicros = micros;
  }

  /**
   * Stores these cells, and those of other rules for as long as they may be needed.
   *
   * @param written the cells of the stack that writes; the array is kept
   * @param others cells that are not among the written, most recently written first
   * @param state null if the stack has no ban
   */
  void write(
      Cell[] written,
      List<Cell> others,
      Optional<BanRule> bans,
      @Nullable BanState state,
      long nowMicros,
      long newShift) {
    bornMicros = bornMicros == Long.MIN_VALUE ? nowMicros : bornMicros;
    newestMicros = nowMicros;
    shiftMicros = newShift;
    own = written.length;
    if (bans.isPresent()) {
      ban = state;
      bannedBy = bans.get();
    } else if (!isBanNeeded(nowMicros)) {
      ban = null;
      bannedBy = null;
    }
    cells = others.isEmpty() ? written : withOthers(written, others, nowMicros);
    neededUntilMicros = UNKNOWN;
  }

  private Cell[] withOthers(Cell[] written, List<Cell> others, long nowMicros) {
    List<Cell> all = new ArrayList<>(List.of(written));
    int count = own + (ban == null ? 0 : 1);
    int sizes = 1 + count + (ban == null ? 0 : Cell.BAN_SIZE);
    for (Cell cell : written) {
      sizes += cell.size();
    }
    for (Cell other : others) {
      int more = sizes + other.size() + 1;
      if (isNeeded(other.timeMicros(), other.longestMemoryMicros(), nowMicros)
          && count < Cell.MOST_CELLS
          && 34 + 5 * count + 8 * more <= Cell.MOST_BYTES) {
        all.add(other);
        count++;
        sizes = more;
      }
    }
    return all.toArray(NONE);
  }

  /**
   * A script stores only approximately how long cells of other rules are needed; this matches it.
   */
  private static boolean isNeeded(long sinceMicros, long memoryMicros, long nowMicros) {
    long lasts = (1L << Cell.exponent(memoryMicros)) * 1_000_000;
    return sinceMicros >= 0 && sinceMicros <= nowMicros && sinceMicros + lasts > nowMicros;
  }

  private boolean isBanNeeded(long nowMicros) {
    BanState state = ban;
    BanRule by = bannedBy;
    return state != null
        && by != null
        && (isNeeded(state.sinceMicros(), Cell.memoryMicros(by), nowMicros)
            || (state.level() > 0 && state.untilMicros() > nowMicros));
  }

  /**
   * Gives back units that a call took from these cells.
   *
   * @param rules those under which the call was counted
   * @param stampMicros when the call was admitted
   * @param units the units to give back to each cell
   * @param taken all units that the call took from each cell
   * @param departureParts for how long the call waits, see {@link CellReadout#departureParts}
   * @param clockMicros the time
   * @return the largest number of units given back to any cell that still had some
   */
  int giveBack(
      RuleStack rules,
      long stampMicros,
      int[] units,
      int[] taken,
      long departureParts,
      long clockMicros) {
    if (stampMicros < bornMicros) {
      return 0; // all was reset in the meantime
    }
    long unused = neededUntilMicros(); // what is given back does not make the cells expire sooner
    Cell[] lowered = cells.clone();
    boolean[] seen = new boolean[cells.length];
    int most = 0;
    for (int c = 0; c < units.length; c++) {
      int place = find(cells, rules.cellRule(c), seen);
      if (place >= 0) {
        seen[place] = true;
      }
      if (place >= 0 && units[c] > 0) {
        Cell cell = cells[place];
        lowered[place] =
            cell.giveBack(
                rules.cellRule(c),
                stampMicros,
                units[c],
                taken[c],
                departureParts,
                nowMicros(clockMicros));
        most = lowered[place] == cell ? most : Math.max(most, units[c]);
      }
    }
    cells = lowered;
    return most;
  }

  /** The index of the first cell that serves a rule and was not seen; -1 if there is none. */
  static int find(Cell[] cells, Rule rule, boolean[] seen) {
    for (int i = 0; i < cells.length; i++) {
      if (!seen[i] && cells[i].serves(rule)) {
        return i;
      }
    }
    return -1;
  }

  boolean expired(long clockMicros, long graceMicros) {
    long sinceWrite = clockMicros + shiftMicros - newestMicros;
    return sinceWrite >= graceMicros
        && clockMicros + shiftMicros - neededUntilMicros() >= graceMicros;
  }

  /** Not before the last write. */
  private long neededUntilMicros() {
    if (neededUntilMicros == UNKNOWN) {
      neededUntilMicros = newestMicros;
      for (Cell cell : cells) {
        neededUntilMicros = Math.max(neededUntilMicros, cell.neededUntilMicros());
      }
      if (ban != null && bannedBy != null) {
        neededUntilMicros = Math.max(neededUntilMicros, ban.neededUntilMicros(bannedBy));
      }
    }
    return neededUntilMicros;
  }

  /** The complete state that affects decisions. */
  @Override
  public String toString() {
    return "Cells[cells=%s, others=%s, ban=%s, newest=%s, shift=%s]"
        .formatted(
            Arrays.asList(cells).subList(0, own),
            Arrays.asList(cells).subList(own, cells.length),
            ban,
            newestMicros,
            shiftMicros);
  }

  /**
   * The state of one subject's violations under a {@link BanRule}. Immutable; times are
   * microseconds.
   *
   * @param sinceMicros the first violation that counts; if there are none, the time at which the
   *     last ban began
   * @param violations how many count
   * @param untilMicros the end of the last ban, if there was one
   * @param level one more than the number of times the ban has grown; 0 if there was none
   */
  record BanState(long sinceMicros, int violations, long untilMicros, int level) {

    static final BanState NONE = new BanState(0, 0, 0, 0);

    /**
     * The remaining microseconds of the ban, at most the longest ban that the rule allows now. The
     * state keeps the original end, for rules that allow it.
     */
    long restMicros(BanRule ban, long nowMicros) {
      return level == 0 ? 0 : Math.max(0, endMicros(ban) - nowMicros);
    }

    /** The end of the ban; it has passed if violations were counted after it. */
    private long endMicros(BanRule ban) {
      return violations > 0
          ? untilMicros
          : Math.min(untilMicros, sinceMicros + MICROSECONDS.convert(ban.longest()));
    }

    /** Returns this state with one more violation. */
    BanState violated(BanRule ban, long nowMicros) {
      boolean first =
          violations == 0 || nowMicros - sinceMicros >= MICROSECONDS.convert(ban.within());
      long from = first ? nowMicros : sinceMicros;
      int count = first ? 1 : violations + 1;
      if (count < ban.violations()) {
        return new BanState(from, count, endMicros(ban), level);
      }
      long longestMicros = MICROSECONDS.convert(ban.longest());
      int grown = nowMicros - endMicros(ban) >= longestMicros ? 0 : level;
      long timeMicros = MICROSECONDS.convert(ban.time());
      for (int i = 0; ban.growth() > 1 && i < grown && timeMicros < longestMicros; i++) {
        timeMicros *= ban.growth();
      }
      return new BanState(nowMicros, 0, nowMicros + Math.min(timeMicros, longestMicros), grown + 1);
    }

    /** The time from which on the state is not needed. */
    long neededUntilMicros(BanRule ban) {
      long countingMicros =
          violations == 0 ? Long.MIN_VALUE : sinceMicros + MICROSECONDS.convert(ban.within());
      long growingMicros =
          level == 0 ? Long.MIN_VALUE : untilMicros + MICROSECONDS.convert(ban.longest());
      return Math.max(countingMicros, growingMicros);
    }
  }
}
