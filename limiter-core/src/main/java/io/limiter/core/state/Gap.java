// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import org.jspecify.annotations.Nullable;

/**
 * The departures of a leaky bucket that abandoned calls gave up, as one series. Departures are
 * numbered backwards: 1 is the last that was handed out.
 *
 * <p>If others stand between those that were given up, the gap covers these too, and does not know
 * which ones are free. It assumes the earliest, so that none counts as free for longer than it is,
 * and none is handed out again.
 *
 * @param from the number of the earliest departure
 * @param length the number of departures
 * @param free how many of them were given up
 */
record Gap(long from, long length, long free) {

  static final Gap NONE = new Gap(0, 0, 0);

  /** The number of bits for a number of departures; a script stores three such numbers as one. */
  private static final int BITS = 17;

  private static Gap of(long from, long length, long free) {
    return free < 1 ? NONE : new Gap(from, length, free);
  }

  /** The gap that a script stores; none if it was not written by this library. */
  static Gap stored(double number) {
    if (!(number >= 1 && number < 0x1p53)) {
      return NONE;
    }
    long bits = (long) number;
    long mask = (1L << BITS) - 1;
    Gap gap = of(bits >> (2 * BITS), (bits >> BITS) & mask, bits & mask);
    return gap.free > gap.length || gap.length > gap.from ? NONE : gap;
  }

  /** Returns what is left of the gap once only {@code departures} are still to come. */
  Gap of(long departures) {
    long passed = Math.max(0, from - departures);
    return passed == 0 ? this : of(from - passed, length - passed, free - passed);
  }

  /** Whether it is known which departures are free: all of them. */
  boolean isKnown() {
    return free > 0 && free == length;
  }

  /** Returns the gap without its earliest departure, which was handed out again. */
  Gap withoutEarliest() {
    return of(from - 1, length - 1, free - 1);
  }

  /** Returns the gap after more departures were handed out behind it. */
  Gap moved(long departures) {
    return free == 0 ? this : new Gap(from + departures, length, free);
  }

  /**
   * The number of the nth departure that is not free, counted from the earliest of {@code
   * departures}.
   */
  long standing(long nth, long departures) {
    long before = departures - from;
    return departures + 1 - nth - (before < nth ? free : 0);
  }

  /** Returns the gap with departures that were given up; null if some of them are free already. */
  @Nullable Gap with(long first, long units) {
    if (free == 0) {
      return new Gap(first, units, units);
    }
    long earliest = Math.max(from, first);
    long last = Math.min(from - length, first - units);
    Gap more = new Gap(earliest, earliest - last, free + units);
    return more.free > more.length ? null : more;
  }

  /** How many of the last departures are known to be free. */
  long last() {
    return isKnown() && from == length ? length : 0;
  }
}
