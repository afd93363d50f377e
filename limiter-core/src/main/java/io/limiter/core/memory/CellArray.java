// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellReadout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered of one key beside its log: a {@link Cell} for each rule that keeps numbers, of
 * all stacks that have written them while they may be needed, and the ban. They have a time of
 * their own, the clock plus a shift, which never runs backwards: it goes on from the last call that
 * was admitted, or that brought a ban nearer. Guarded by its stripe.
 */
final class CellArray {

  private static final int BAN_SIZE = 4;

  private static final Cell[] NONE = {};

  /** First those of the stack that wrote last, then those of others, which may be needed. */
  private Cell[] cells = NONE;

  private int own;

  /** Null if no stack that wrote has one. */
  private @Nullable BanState ban;

  /** As it was when the state was written. */
  private @Nullable BanRule bannedBy;

  /** When the first of them was written: what was taken before is not among them. */
  private long born = Long.MIN_VALUE;

  private long newest;
  private long shift;
  private long neededUntil;

  /** The time; never before {@link #write} was last called. */
  long now(long clock) {
    return Math.max(clock + shift, newest);
  }

  /** The time of the last write. */
  long newest() {
    return newest;
  }

  /** The clock as it was at the last write. */
  long lastWrite() {
    return newest - shift;
  }

  /** Of all stacks, those of the one that wrote last first; not to be written to. */
  static Cell[] all(@Nullable CellArray cells) {
    return cells == null ? NONE : cells.cells;
  }

  @Nullable BanState ban() {
    return ban;
  }

  /** The clock was set back: from now on it is read with this shift. */
  void shiftTo(long microseconds) {
    shift = microseconds;
  }

  /**
   * Remembers these, and the cells of other rules for as long as they may be needed.
   *
   * @param written of the stack that writes; kept as it is
   * @param others those that are not among the written, those first that were written last
   * @param state null if the stack has no ban
   */
  void write(
      Cell[] written,
      List<Cell> others,
      Optional<BanRule> bans,
      @Nullable BanState state,
      long now,
      long newShift) {
    born = born == Long.MIN_VALUE ? now : born;
    newest = now;
    shift = newShift;
    own = written.length;
    if (bans.isPresent()) {
      ban = state;
      bannedBy = bans.get();
    } else if (!isBanNeeded(now)) {
      ban = null;
      bannedBy = null;
    }
    cells = others.isEmpty() ? written : withOthers(written, others, now);
    neededUntil = now;
    for (Cell cell : cells) {
      neededUntil = Math.max(neededUntil, cell.neededUntil());
    }
    if (ban != null && bannedBy != null) {
      neededUntil = Math.max(neededUntil, ban.neededUntil(bannedBy));
    }
  }

  private Cell[] withOthers(Cell[] written, List<Cell> others, long now) {
    List<Cell> all = new ArrayList<>(List.of(written));
    int count = own + (ban == null ? 0 : 1);
    int sizes = 1 + count + (ban == null ? 0 : BAN_SIZE);
    for (Cell cell : written) {
      sizes += cell.size();
    }
    for (Cell other : others) {
      int more = sizes + other.size() + 1;
      if (isNeeded(other.time(), other.memoryMicros(), now)
          && count < Cell.MOST_CELLS
          && 34 + 5 * count + 8 * more <= Cell.MOST_BYTES) {
        all.add(other);
        count++;
        sizes = more;
      }
    }
    return all.toArray(NONE);
  }

  /** A script knows of others' cells only about how long they are needed. */
  private static boolean isNeeded(long since, long memoryMicros, long now) {
    long lasts = (1L << Cell.exponent(memoryMicros)) * 1_000_000;
    return since >= 0 && since <= now && since + lasts > now;
  }

  private boolean isBanNeeded(long now) {
    BanState state = ban;
    BanRule by = bannedBy;
    return state != null
        && by != null
        && (isNeeded(state.since(), Cell.memoryMicros(by), now)
            || (state.level() > 0 && state.until() > now));
  }

  /**
   * Gives back units that a call took from these cells.
   *
   * @param rules those that the call was counted under
   * @param stamp when the call was admitted
   * @param units how many, of each cell
   * @param taken all units that the call took, of each cell
   * @param waits for how long the call waits, as {@link CellReadout#departure}
   * @param clock the time
   * @return how many were given back at most, of a cell in which any of them was still there
   */
  int giveBack(Rule[] rules, long stamp, int[] units, int[] taken, long waits, long clock) {
    if (stamp < born) {
      return 0; // all was forgotten meanwhile
    }
    Cell[] lowered = cells.clone();
    boolean[] seen = new boolean[cells.length];
    int most = 0;
    for (int c = 0; c < rules.length; c++) {
      int place = find(cells, rules[c], seen);
      if (place >= 0) {
        seen[place] = true;
      }
      if (place >= 0 && units[c] > 0) {
        Cell cell = cells[place];
        lowered[place] = cell.giveBack(rules[c], stamp, units[c], taken[c], waits, now(clock));
        most = lowered[place] == cell ? most : Math.max(most, units[c]);
      }
    }
    cells = lowered;
    return most;
  }

  /** The first cell that serves a rule and was not seen; -1 if there is none. */
  static int find(Cell[] cells, Rule rule, boolean[] seen) {
    for (int i = 0; i < cells.length; i++) {
      if (!seen[i] && cells[i].serves(rule)) {
        return i;
      }
    }
    return -1;
  }

  boolean expired(long clock, long grace) {
    return clock + shift - neededUntil >= grace;
  }

  /** Everything that a decision could see. */
  @Override
  public String toString() {
    return "Cells[cells=%s, others=%s, ban=%s, newest=%d, shift=%d]"
        .formatted(
            Arrays.asList(cells).subList(0, own),
            Arrays.asList(cells).subList(own, cells.length),
            ban,
            newest,
            shift);
  }
}
