// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.StateKey;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cells;
import io.limiter.core.util.BoundedCache;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The state of one key: the units that it took, oldest first, a ring of time stamps in
 * microseconds; the numbers of its rules without a log; or a ban. Its time is the clock plus a
 * shift, and never runs backwards: it continues from the last write. Times are compared by their
 * difference, so that a clock may start anywhere and wrap around. Guarded by its stripe.
 */
final class UnitLog {

  private static final long UNKNOWN = Long.MAX_VALUE;
  private static final int SMALLEST_RING = 4;
  private static final long[] NO_RING = {};

  private final LogTable table;

  /** The key under which its table holds it, with its hash, and the next log of that bucket. */
  private final StateKey key;

  private int hash;
  private @Nullable UnitLog next;

  /** Whether the table holds it. */
  private boolean isKept;

  /**
   * Calls that kept it again: each eighth inspects a bucket of its table. A count in the table
   * would be written by calls of all keys, and slow down what lies beside it in memory.
   */
  private int keptAgain;

  /** The cells under which the numbers were written; null before. */
  private @Nullable Cells cells;

  /**
   * The numbers of the cells; null without any. The array is replaced and never modified, since
   * decisions read it later.
   */
  private long @Nullable [] numbers;

  /** When the first number was written: units taken earlier are not in the numbers. */
  private long bornMicros;

  private BanState ban = BanState.NONE;

  /** The rule of the ban when it was written; null if this is no ban. */
  private @Nullable BanRule bannedBy;

  private long[] ring = NO_RING;

  /** The clock at which a call last took units; {@link #UNKNOWN} if none has. */
  private long takenMicros = UNKNOWN;

  private int head;
  private int size;

  /** Whether anything was written. */
  private boolean written;

  /** The time of the last write. */
  private long timeMicros;

  /** Time = clock + shift; it grows when the clock is set back. */
  private long shiftMicros;

  /** The longest window of the rules of the log; older units are removed. */
  private long horizonMicros;

  /** A log without units, which its table does not hold yet. */
  UnitLog(LogTable table, StateKey key) {
    this.table = table;
    this.key = key;
  }

  /** The table and the key, by which a later call finds the log of that time. */
  LogTable table() {
    return table;
  }

  StateKey key() {
    return key;
  }

  /**
   * Whether its table holds it, or has room for it as a ban, for which expired logs are removed. A
   * table has as much room for bans as for other logs: no subject passes because it is full.
   */
  boolean findsRoomForBan(long clockMicros) {
    if (!isKept) {
      table.makeRoom(key, clockMicros);
    }
    return isKept || table.bans < table.capacity;
  }

  int size() {
    return size;
  }

  /** The time; never before the last write. */
  long nowMicros(long clockMicros) {
    long micros = clockMicros + shiftMicros;
    return written && timeMicros - micros > 0 ? timeMicros : micros;
  }

  /** Notes the last write. */
  void wrote(long nowMicros, long newShift) {
    written = true;
    timeMicros = nowMicros;
    shiftMicros = newShift;
  }

  /** A time by the clock, or that of the last write if it is later. */
  long notBeforeLastWrite(long thenMicros) {
    return written ? Math.max(thenMicros, timeMicros - shiftMicros) : thenMicros;
  }

  /** The cells of a stack that shares this state. */
  Cells cells(RuleStack stack) {
    Cells known = cells;
    return known != null && known.areOf(stack) ? known : table.cells.get(stack);
  }

  /** The numbers of these cells; not to be modified. */
  long[] numbers(Cells of) {
    return numbers == null ? of.unused() : numbers;
  }

  boolean hasNumbers() {
    return numbers != null;
  }

  /** Whether units of this time may be in the numbers. */
  boolean hasNumbersSince(long stampMicros) {
    return numbers != null && stampMicros - bornMicros >= 0;
  }

  /** Replaces the numbers with a copy and returns it. */
  long[] lowered() {
    long[] copy = Objects.requireNonNull(numbers).clone();
    numbers = copy;
    return copy;
  }

  /** Keeps the numbers that rules have counted. */
  void remember(Cells of, long[] counted, long nowMicros) {
    bornMicros = numbers == null ? nowMicros : bornMicros;
    cells = of;
    numbers = counted;
  }

  BanState ban() {
    return ban;
  }

  void remember(BanState state, BanRule rule) {
    ban = state;
    bannedBy = rule;
  }

  /** The number of units that fit without growing. */
  int capacity() {
    return ring.length;
  }

  /** Whether the time runs ahead of the clock by this. */
  boolean isShiftedBy(long micros) {
    return shiftMicros == micros;
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
    return stampMicros(size - 1);
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
   * Whether every unit is past the horizon, and neither a cell nor a ban is needed, for longer than
   * the grace time; not before the grace time has passed since a call took units. Writes nothing.
   */
  boolean expired(long clockMicros, long graceMicros) {
    long sinceTaken = clockMicros - takenMicros;
    if (sinceTaken >= 0 && sinceTaken < graceMicros) {
      return false; // the usual case, without a look at the cells
    }
    long sinceWrite = clockMicros + shiftMicros - timeMicros;
    return (size == 0 || clockMicros + shiftMicros - newestMicros() - horizonMicros >= graceMicros)
        && (numbers == null
            || cells == null
            || (sinceWrite >= graceMicros
                && clockMicros + shiftMicros - cells.neededUntilMicros(numbers, timeMicros)
                    >= graceMicros))
        && (bannedBy == null || clockMicros - ban.neededUntilMicros(bannedBy) >= graceMicros);
  }

  /**
   * Takes units with the present time as their stamp; see {@link #take(long, long, int, long,
   * long)}.
   */
  long take(long nowMicros, int units, long kept, long windowMicros) {
    return take(nowMicros, nowMicros, units, kept, windowMicros);
  }

  /**
   * Takes units. Removes those that have left the longest window, and the oldest ones beyond the
   * number that the rules need, or beyond the number before this call if a larger count admitted
   * more.
   *
   * @param stampMicros their stamp, unless the newest unit is later, such as one of a lease: the
   *     log is in order
   * @return their stamp
   */
  long take(long nowMicros, long stampMicros, int units, long kept, long windowMicros) {
    boolean isBehind = size > 0 && newestMicros() - stampMicros > 0;
    long stamp = isBehind ? newestMicros() : stampMicros;
    horizonMicros = windowMicros;
    dropOldest(firstYounger(nowMicros, horizonMicros));
    long most = Math.max(kept, size);
    int taken = (int) Math.min(units, most);
    dropOldest((int) Math.max(0, size + taken - most));
    fit(size + taken);
    for (int i = 0; i < taken; i++) {
      ring[(head + size + i) & (ring.length - 1)] = stamp;
    }
    size += taken;
    return stamp;
  }

  /** Changes the stamp of its only unit. Returns false if that is not there. */
  boolean restamp(long fromMicros, long toMicros) {
    boolean found = size == 1 && newestMicros() == fromMicros;
    if (found) {
      ring[head] = toMicros;
    }
    return found;
  }

  /** Gives back up to this many units that have exactly this stamp. Returns how many. */
  int giveBack(long stampMicros, int units) {
    int first = firstYounger(stampMicros, 1); // with this stamp, or a later one
    int after = first;
    while (after < size && after - first < units && stampMicros(after) == stampMicros) {
      after++;
    }
    int given = after - first;
    for (int i = after; i < size; i++) {
      ring[(head + i - given) & (ring.length - 1)] = stampMicros(i);
    }
    size -= given;
    if (size == 0) {
      ring = NO_RING;
      head = 0;
    }
    return given;
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
    return "UnitLog[stamps=%s, numbers=%s, time=%s, shift=%s, ban=%s]"
        .formatted(Arrays.toString(stamps), Arrays.toString(numbers), timeMicros, shiftMicros, ban);
  }

  /**
   * Logs by their keys. No call sweeps the table: the calls that write, in turn, free the memory
   * that calls have used. Guarded by its stripe; {@link #find} writes nothing, since calls look
   * before they lock.
   *
   * <p>The logs themselves are the entries of the hash table: an entry beside each would be one
   * more object that a call has to fetch from memory. Keys are hashes of their subjects. If a
   * caller has tried out billions to find many of one bucket, the table hashes by a secret from
   * then on.
   */
  static class LogTable {

    private static final int SMALLEST = 16;

    /**
     * Unknown to callers, who cannot see the hashes; SecureRandom would load 40 classes more at the
     * start. Odd, so that the product keeps each bit of what was hashed.
     */
    private static final long SECRET = ThreadLocalRandom.current().nextLong() | 1;

    /** Buckets that a new key inspects, so that the table does not grow while logs expire. */
    private static final int OF_NEW_KEY = 2;

    /** Buckets that a new key inspects if there is no room for it. */
    private static final int IF_FULL = 16;

    /** More logs than a bucket ever has by chance. */
    private static final int MOST_OF_A_BUCKET = 32;

    private @Nullable UnitLog[] buckets = new UnitLog[SMALLEST];

    /** By what keys are hashed; 0 while their own hashes do. */
    private long secret;

    private int size;
    private int bans;
    private final int capacity;
    private final long graceMicros;

    /** The cells of each stack, which all its subjects share. */
    private final BoundedCache<RuleStack, Cells> cells;

    /** The next bucket to inspect. */
    private int turn;

    /**
     * @param capacity the most logs; check {@link #full} before adding one
     * @param graceMicros how long an expired log is kept
     * @param cells the cells of each stack, which all its subjects share
     */
    LogTable(int capacity, long graceMicros, BoundedCache<RuleStack, Cells> cells) {
      this.capacity = capacity;
      this.graceMicros = graceMicros;
      this.cells = cells;
    }

    /** The log of a key; null if it has expired. */
    @Nullable UnitLog find(StateKey key, long clockMicros) {
      UnitLog log = peek(key);
      return log == null || log.expired(clockMicros, graceMicros) ? null : log;
    }

    /** Frees memory for a key that has no log, or an expired one. */
    void makeRoom(StateKey key, long clockMicros) {
      remove(key);
      tidy(full() ? IF_FULL : OF_NEW_KEY, clockMicros);
    }

    /** The log of a key, expired or not. */
    @Nullable UnitLog peek(StateKey key) {
      int hash = hash(key);
      UnitLog log = buckets[bucket(hash)];
      while (log != null && (log.hash != hash || !key.equals(log.key))) {
        log = log.next;
      }
      return log;
    }

    private int hash(StateKey key) {
      if (secret == 0) {
        return key.hashCode();
      }
      long hash = key.breadth();
      for (int i = 0; i < key.tag().length(); i++) {
        hash = hash * secret + key.tag().charAt(i);
      }
      for (int i = 0; i < key.name().length(); i++) {
        hash = hash * secret + key.name().charAt(i);
      }
      return (int) (hash >>> Integer.SIZE);
    }

    private int bucket(int hash) {
      return hash & buckets.length - 1; // of a hash of hashes any bits will do
    }

    boolean full() {
      return size - bans >= capacity;
    }

    int size() {
      return size;
    }

    /** Keeps a log, in place of another one of its key. */
    void keep(UnitLog log, long clockMicros) {
      if (log.isKept) {
        if ((++log.keptAgain & 7) == 0) {
          tidy(1, clockMicros);
        }
        return;
      }
      remove(log.key);
      if (size == buckets.length) {
        rehash(2 * buckets.length);
      }
      log.isKept = true;
      add(log);
      size++;
      bans += log.bannedBy == null ? 0 : 1;
      if (secret == 0 && length(log) > MOST_OF_A_BUCKET) {
        secret = SECRET;
        rehash(buckets.length);
      }
    }

    private static int length(@Nullable UnitLog first) {
      int length = 0;
      for (UnitLog log = first; log != null; log = log.next) {
        length++;
      }
      return length;
    }

    /** The logs of the fullest bucket, for tests. */
    int longest() {
      return Arrays.stream(buckets).mapToInt(LogTable::length).max().orElse(0);
    }

    private void add(UnitLog log) {
      log.hash = hash(log.key);
      int bucket = bucket(log.hash);
      log.next = buckets[bucket];
      buckets[bucket] = log;
    }

    private void rehash(int length) {
      @Nullable UnitLog[] before = buckets;
      buckets = new UnitLog[length];
      for (UnitLog first : before) {
        UnitLog log = first;
        while (log != null) {
          UnitLog rest = log.next;
          add(log);
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
      removed.isKept = false;
      size--;
      bans -= removed.bannedBy == null ? 0 : 1;
    }

    /** Inspects some buckets, and removes the logs that have expired. */
    private void tidy(int some, long clockMicros) {
      for (int i = 0; i < some; i++) {
        for (UnitLog log = buckets[bucket(turn++)]; log != null; log = log.next) {
          if (log.expired(clockMicros, graceMicros)) {
            remove(log.key);
          }
        }
      }
    }

    void clear() {
      buckets = new UnitLog[SMALLEST];
      size = 0;
      bans = 0;
    }
  }
}
