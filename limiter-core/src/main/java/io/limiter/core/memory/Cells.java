// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Ban;
import io.limiter.core.Rule;
import io.limiter.core.cell.Cell;
import io.limiter.core.cell.Gauge;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered of one key beside its log: a {@link Cell} for each rule that keeps numbers,
 * and the ban. They have a time of their own, the clock plus a shift, which never runs backwards:
 * it goes on from the last call that was admitted, or that brought a ban nearer. Guarded by its
 * stripe.
 */
final class Cells {

  private static final Cell[] NO_CELLS = {};

  private Cell[] cells = NO_CELLS;

  /** Null if the stack that wrote last has none. */
  private @Nullable BanState ban;

  private long newest;
  private long shift;
  private long neededUntil;

  /** The time; never before {@link #write} was last called. */
  long now(long clock) {
    return Math.max(clock + shift, newest);
  }

  /** The clock as it was at the last write. */
  long lastWrite() {
    return newest - shift;
  }

  int size() {
    return cells.length;
  }

  Cell get(int index) {
    return cells[index];
  }

  @Nullable BanState ban() {
    return ban;
  }

  /** The clock was set back: from now on it is read with this shift. */
  void shiftTo(long microseconds) {
    shift = microseconds;
  }

  /**
   * Remembers these, and nothing else.
   *
   * @param state null if the stack has no ban
   */
  void write(
      Cell[] written, Optional<Ban> bans, @Nullable BanState state, long now, long newShift) {
    cells = written;
    ban = state;
    newest = now;
    shift = newShift;
    neededUntil = now;
    for (Cell cell : written) {
      neededUntil = Math.max(neededUntil, cell.neededUntil());
    }
    if (bans.isPresent() && state != null) {
      neededUntil = Math.max(neededUntil, state.neededUntil(bans.get()));
    }
  }

  /**
   * Gives back units that a call took from these cells.
   *
   * @param rules those that the call was counted under: where others have written since, nothing is
   *     given back
   * @param bans whether they came with a ban
   * @param taken all units that the call took
   * @param waits for how long the call waits, as {@link Gauge#departure}
   * @param clock the time
   * @return whether any of the units was still there
   */
  boolean giveBack(
      Rule[] rules, boolean bans, long stamp, int units, int taken, long waits, long clock) {
    if (rules.length != cells.length || bans != (ban != null)) {
      return false;
    }
    Cell[] lowered = cells.clone();
    boolean any = false;
    for (int c = 0; c < cells.length; c++) {
      if (!cells[c].serves(rules[c])) {
        return false;
      }
      lowered[c] = cells[c].giveBack(rules[c], stamp, units, taken, waits, now(clock));
      any |= lowered[c] != cells[c];
    }
    cells = lowered;
    return any;
  }

  boolean expired(long clock, long grace) {
    return clock + shift - neededUntil >= grace;
  }

  /** Everything that a decision could see. */
  @Override
  public String toString() {
    return "Cells[cells=%s, ban=%s, newest=%d, shift=%d]"
        .formatted(Arrays.toString(cells), ban, newest, shift);
  }
}
