// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.StateKey;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The units that one key took, oldest first: a ring of time stamps in microseconds. Stamps are
 * compared by their difference, so that a clock may start anywhere and wrap around. It also holds
 * the cells of the key's rules without a log. Guarded by its stripe.
 *
 * <p>A log without units has no state that affects decisions: it starts again with its next unit.
 */
final class UnitLog {

  private static final long UNKNOWN = Long.MAX_VALUE;
  private static final int SMALLEST_RING = 4;
  private static final long[] NO_RING = {};

  /** The key under which its table holds it, with its hash, and the next log of that bucket. */
  private @Nullable StateKey key;

  private int hash;
  private @Nullable UnitLog next;

  /** The neighbours in the order of their last use. */
  private @Nullable UnitLog elder;

  private @Nullable UnitLog younger;

  private @Nullable CellArray cells;
  private long[] ring = NO_RING;

  /** The clock at which units were last taken, if nothing else was written since then. */
  private long takenMicros = UNKNOWN;

  private int head;
  private int size;
  private long newestMicros;

  /** Stamp = clock + shift; it grows when the clock is set back. */
  private long shiftMicros;

  /** The most units that any rule of this log needs. */
  private long keep;

  /** The longest window of any rule of this log; older units are removed. */
  private long horizonMicros;

  /** When the horizon lapses, unless a stack with as long a window takes units before. */
  private long untilMicros;

  int size() {
    return size;
  }

  /** The cells of rules without a log; null if no such rule was used. */
  @Nullable CellArray cells() {
    return cells;
  }

  void remember(CellArray counted) {
    cells = counted;
  }

  /** The number of units that fit without growing. */
  int capacity() {
    return ring.length;
  }

  long shiftMicros() {
    return shiftMicros;
  }

  /** Sets the shift to use from now on, after the clock was set back. */
  void shiftTo(long micros) {
    shiftMicros = micros;
  }

  /** Notes the clock when a call has taken its units. */
  void taken(long clockMicros) {
    takenMicros = clockMicros;
  }

  /** The stamp of a unit, 0 being the oldest. */
  long stampMicros(int index) {
    return ring[(head + index) & (ring.length - 1)];
  }

  /** The stamp of the newest unit, if there is one. */
  long newestMicros() {
    return newestMicros;
  }

  /**
   * The index of the first unit that is younger than this age at a time; the size if there is none.
   */
  int firstYounger(long nowMicros, long ageMicros) {
    if (size == 0 || nowMicros - stampMicros(0) < ageMicros) {
      return 0; // the usual case, for the longest window
    }
    int low = 1;
    int high = size;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (nowMicros - stampMicros(middle) >= ageMicros) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /**
   * Whether every unit is past the horizon, and no cell is needed, for longer than the grace time;
   * not before the grace time has passed since a call took units.
   */
  boolean expired(long clockMicros, long graceMicros) {
    long sinceTaken = clockMicros - takenMicros;
    if (sinceTaken >= 0 && sinceTaken < graceMicros) {
      return false; // the usual case, without a look at the cells
    }
    return (size == 0 || clockMicros + shiftMicros - newestMicros - horizonMicros >= graceMicros)
        && (cells == null || cells.expired(clockMicros, graceMicros));
  }

  /**
   * Takes units for a stack whose largest count and longest window are given. Removes units past
   * the horizon, and the oldest that no rule needs. The horizon of a stack with a longer window
   * holds until that window has passed since the stack last took units.
   */
  void take(long nowMicros, int units, long count, long windowMicros) {
    if (windowMicros < horizonMicros && nowMicros - untilMicros < 0) {
      keep = Math.max(keep, count);
    } else {
      keep = windowMicros < horizonMicros ? count : Math.max(keep, count);
      horizonMicros = windowMicros;
      untilMicros = nowMicros + windowMicros;
    }
    int taken = (int) Math.min(units, keep);
    dropOldest(firstYounger(nowMicros, horizonMicros));
    dropOldest((int) Math.max(0, size + taken - keep));
    fit(size + taken);
    for (int i = 0; i < taken; i++) {
      ring[(head + size + i) & (ring.length - 1)] = nowMicros;
    }
    size += taken;
    newestMicros = nowMicros;
  }

  /** Gives back up to so many units that have exactly this stamp. Returns how many. */
  int giveBack(long stampMicros, int units) {
    int low = 0;
    int high = size;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (stampMicros(middle) - stampMicros < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    int after = low;
    while (after < size && after - low < units && stampMicros(after) == stampMicros) {
      after++;
    }
    int given = after - low;
    for (int i = after; i < size; i++) {
      ring[(head + i - given) & (ring.length - 1)] = stampMicros(i);
    }
    size -= given;
    if (size > 0) {
      newestMicros = stampMicros(size - 1);
      if (untilMicros - newestMicros > horizonMicros) {
        untilMicros =
            newestMicros + horizonMicros; // by then the longest window counts none of them
      }
    } else {
      clear();
    }
    return given;
  }

  private void clear() {
    ring = NO_RING;
    head = 0;
    shiftMicros = 0;
    keep = 0;
    horizonMicros = 0;
    untilMicros = 0;
  }

  private void dropOldest(int units) {
    head = (head + units) & (ring.length - 1);
    size -= units;
  }

  /** Grows the ring, or frees memory when little of it is used; for 1 unit or more. */
  private void fit(int units) {
    if (units > ring.length || units <= ring.length >> 3) {
      long[] fitting = new long[Math.max(SMALLEST_RING, Integer.highestOneBit(2 * units - 1))];
      for (int i = 0; i < size; i++) {
        fitting[i] = stampMicros(i);
      }
      ring = fitting;
      head = 0;
    }
  }

  /** The complete state that affects decisions. */
  @Override
  public String toString() {
    long[] stamps = new long[size];
    Arrays.setAll(stamps, this::stampMicros);
    String log =
        "UnitLog[stamps=%s, shift=%s, keep=%s, horizon=%s, until=%s]"
            .formatted(Arrays.toString(stamps), shiftMicros, keep, horizonMicros, untilMicros);
    return cells == null ? log : log + " " + cells;
  }

  /**
   * The logs of one stripe, least recently used first. No call sweeps the table. Each call inspects
   * the eldest log, or two if it may create a new one: an expired log is removed, a live one moves
   * to the end. So the calls themselves free the memory that calls have used. Guarded by its
   * stripe.
   *
   * <p>The logs themselves are the entries of the hash table and of the list: an entry beside each
   * would be one more object that a call has to fetch from memory. Keys are hashes of their
   * subjects, so no caller can choose many of one bucket without trying out billions.
   */
  static final class LogTable {

    private static final int SMALLEST = 16;

    private @Nullable UnitLog[] buckets = new UnitLog[SMALLEST];
    private int size;
    private final int capacity;
    private final long graceMicros;
    private @Nullable UnitLog eldest;
    private @Nullable UnitLog youngest;

    /**
     * @param capacity the most logs; check {@link #full} before adding one
     * @param graceMicros how long an expired log is kept
     */
    LogTable(int capacity, long graceMicros) {
      this.capacity = capacity;
      this.graceMicros = graceMicros;
    }

    /** The log of a key; null if it has expired. */
    @Nullable UnitLog find(StateKey key, long clockMicros) {
      tidy(clockMicros);
      UnitLog log = peek(key);
      if (log != null && !log.expired(clockMicros, graceMicros)) {
        moveToEnd(log);
        return log;
      }
      tidy(clockMicros);
      return null;
    }

    /** The log of a key, expired or not. */
    @Nullable UnitLog peek(StateKey key) {
      int hash = key.hashCode();
      UnitLog log = buckets[bucket(hash)];
      while (log != null && (log.hash != hash || !key.equals(log.key))) {
        log = log.next;
      }
      return log;
    }

    private int bucket(int hash) {
      return hash & buckets.length - 1; // of a hash of hashes any bits will do
    }

    boolean full() {
      return size >= capacity;
    }

    int size() {
      return size;
    }

    void put(StateKey key, UnitLog log) {
      remove(key);
      if (size == buckets.length) {
        grow();
      }
      log.key = key;
      log.hash = key.hashCode();
      int bucket = bucket(log.hash);
      log.next = buckets[bucket];
      buckets[bucket] = log;
      size++;
      append(log);
    }

    private void grow() {
      @Nullable UnitLog[] smaller = buckets;
      buckets = new UnitLog[2 * smaller.length];
      for (UnitLog first : smaller) {
        UnitLog log = first;
        while (log != null) {
          UnitLog rest = log.next;
          int bucket = bucket(log.hash);
          log.next = buckets[bucket];
          buckets[bucket] = log;
          log = rest;
        }
      }
    }

    void remove(StateKey key) {
      UnitLog removed = peek(key);
      if (removed == null) {
        return;
      }
      int bucket = bucket(removed.hash);
      UnitLog before = buckets[bucket];
      if (before == removed) {
        buckets[bucket] = removed.next;
      } else {
        while (before != null && before.next != removed) {
          before = before.next;
        }
        if (before != null) {
          before.next = removed.next;
        }
      }
      removed.next = null;
      size--;
      unlink(removed);
    }

    /** Inspects the eldest log. */
    private void tidy(long clockMicros) {
      UnitLog first = eldest;
      if (first == null) {
        return;
      }
      StateKey key = first.key;
      if (key != null && first.expired(clockMicros, graceMicros)) {
        remove(key);
      } else {
        moveToEnd(first);
      }
    }

    private void moveToEnd(UnitLog log) {
      if (log != youngest) {
        unlink(log);
        append(log);
      }
    }

    private void append(UnitLog log) {
      UnitLog last = youngest;
      log.elder = last;
      if (last == null) {
        eldest = log;
      } else {
        last.younger = log;
      }
      youngest = log;
    }

    private void unlink(UnitLog log) {
      UnitLog before = log.elder;
      UnitLog after = log.younger;
      if (before == null) {
        eldest = after;
      } else {
        before.younger = after;
      }
      if (after == null) {
        youngest = before;
      } else {
        after.elder = before;
      }
      log.elder = null;
      log.younger = null;
    }

    void clear() {
      buckets = new UnitLog[SMALLEST];
      size = 0;
      eldest = null;
      youngest = null;
    }
  }
}
