// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The future departures of a leaky bucket that were given up, the earliest first. Departures are
 * numbered backwards: 1 is the last that was handed out. Immutable.
 *
 * <p>At most {@value #MOST} gaps are kept apart. If there would be one more, the two closest are
 * merged into one, which also covers the departures between them. The merged gap keeps the number
 * of its free departures, but not which ones they are. So none of these is handed out again, and
 * the earliest are taken to be the free ones, so that they never count for longer than they should.
 */
final class Gaps {

  /** The most gaps that are kept apart. */
  static final int MOST = 8;

  /** The number of bits for a number of departures; a script stores three such numbers as one. */
  private static final int BITS = 17;

  static final Gaps NONE = new Gaps(List.of());

  /**
   * A series of consecutive departures.
   *
   * @param from the number of the earliest departure
   * @param length the number of departures
   * @param free how many of them were given up
   */
  record Gap(long from, long length, long free) {

    /** Whether it is known which departures are free: all of them. */
    boolean known() {
      return free == length;
    }

    long to() {
      return from - length + 1;
    }
  }

  private final List<Gap> all;

  private Gaps(List<Gap> all) {
    this.all = all;
  }

  /** Creates gaps from the values that a script stores: one number for each gap, 0 for none. */
  static Gaps stored(double[] numbers, int offset) {
    if (!(numbers[offset] >= 1)) {
      return NONE;
    }
    List<Gap> gaps = new ArrayList<>(MOST);
    for (int at = offset; at < numbers.length; at++) {
      long number = numbers[at] < 0x1p53 ? (long) numbers[at] : 0;
      long mask = (1L << BITS) - 1;
      gaps.add(new Gap(number >> (2 * BITS), (number >> BITS) & mask, number & mask));
    }
    return new Gaps(gaps);
  }

  /** Returns the gaps that are left once only {@code departures} are still to come. */
  Gaps of(long departures) {
    if (all.isEmpty()) {
      return this;
    }
    List<Gap> remaining = new ArrayList<>(all.size());
    long below = departures + 1;
    for (Gap gap : all) {
      if (gap.free < 1 || gap.free > gap.length || gap.length > gap.from) {
        break; // past, or not written by this library
      }
      long passed = Math.max(0, gap.from - departures);
      Gap remainder = new Gap(gap.from - passed, gap.length - passed, gap.free - passed);
      if (remainder.free >= 1) {
        if (remainder.from >= below) {
          break;
        }
        remaining.add(remainder);
        below = remainder.to();
      }
    }
    return remaining.isEmpty() ? NONE : new Gaps(remaining);
  }

  /** The number of free departures. */
  long free() {
    long sum = 0;
    for (Gap gap : all) {
      sum += gap.free;
    }
    return sum;
  }

  /**
   * The gap whose first departure is the earliest that is known to be free; null if there is none.
   */
  @Nullable Gap earliest() {
    for (Gap gap : all) {
      if (gap.known()) {
        return gap;
      }
    }
    return null;
  }

  /** Returns the gaps without their earliest free departure, which was handed out again. */
  Gaps withoutEarliest() {
    List<Gap> remaining = new ArrayList<>(all);
    for (int g = 0; g < remaining.size(); g++) {
      Gap gap = remaining.get(g);
      if (gap.known()) {
        if (gap.length == 1) {
          remaining.remove(g);
        } else {
          remaining.set(g, new Gap(gap.from - 1, gap.length - 1, gap.free - 1));
        }
        break;
      }
    }
    return new Gaps(remaining);
  }

  /**
   * Returns the gaps after more departures were handed out, or taken back if the number is
   * negative.
   */
  Gaps moved(long departures) {
    return all.isEmpty() || departures == 0
        ? this
        : new Gaps(
            all.stream().map(gap -> new Gap(gap.from + departures, gap.length, gap.free)).toList());
  }

  /**
   * The number of the nth departure that is not free, counted from the earliest of {@code
   * departures}.
   */
  long standing(long nth, long departures) {
    long forward = nth;
    for (Gap gap : all) {
      if (departures + 1 - gap.from > forward) {
        break;
      }
      forward += gap.free;
    }
    return departures + 1 - forward;
  }

  /** Returns the gaps with departures that were given up; null if some of them are already free. */
  @Nullable Gaps with(long from, long units) {
    List<Gap> more = new ArrayList<>(all);
    Gap given = new Gap(from, units, units);
    int at = 0;
    while (at < more.size() && more.get(at).to() > from) {
      at++;
    }
    Gap next = at < more.size() ? more.get(at) : null;
    if (next != null && next.from >= given.to()) {
      if (next.from < from || next.to() > given.to() || next.free + units > next.length) {
        return null;
      }
      more.set(at, new Gap(next.from, next.length, next.free + units));
      return new Gaps(more);
    }
    if (next != null && next.known() && next.from + 1 == given.to()) {
      given = joined(given, next);
      more.remove(at);
    }
    Gap before = at > 0 ? more.get(at - 1) : null;
    if (before != null && before.known() && before.to() - 1 == from) {
      given = joined(before, given);
      more.remove(--at);
    }
    more.add(at, given);
    if (more.size() > MOST) {
      joinClosest(more);
    }
    return new Gaps(more);
  }

  private static Gap joined(Gap one, Gap next) {
    return new Gap(one.from, one.from - next.to() + 1, one.free + next.free);
  }

  private static void joinClosest(List<Gap> gaps) {
    int closest = 0;
    for (int g = 1; g + 1 < gaps.size(); g++) {
      if (between(gaps, g) < between(gaps, closest)) {
        closest = g;
      }
    }
    gaps.set(closest, joined(gaps.get(closest), gaps.get(closest + 1)));
    gaps.remove(closest + 1);
  }

  private static long between(List<Gap> gaps, int index) {
    return gaps.get(index).to() - gaps.get(index + 1).from;
  }

  /** How many of the last departures are known to be free. */
  long last() {
    Gap last = all.isEmpty() ? null : all.get(all.size() - 1);
    return last != null && last.known() && last.to() == 1 ? last.length : 0;
  }

  /** Returns the gaps without the last one. */
  Gaps withoutLast() {
    return new Gaps(all.subList(0, all.size() - 1));
  }

  @Override
  public String toString() {
    return all.toString();
  }
}
