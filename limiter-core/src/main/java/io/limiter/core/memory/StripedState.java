// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.StateKey;
import io.limiter.core.memory.UnitLog.LogTable;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cells;
import io.limiter.core.util.BoundedCache;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.StampedLock;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All stripes, and the clock. A set of stripes is a bit mask. */
final class StripedState {

  private static final Logger LOG = LoggerFactory.getLogger(MemoryStore.class);

  private static final int MAX_STRIPES = Long.SIZE;

  /** A stripe of fewer keys would overflow by chance long before the others are full. */
  private static final int MIN_KEYS = 256;

  /** The most stacks whose cells are kept: some for each policy, tier and override. */
  private static final int MAX_STACKS = 4_096;

  private final Stripe[] stripes;
  private final LongSupplier clockMicros;
  private final int capacity;
  private final AtomicBoolean overflowed = new AtomicBoolean();

  StripedState(int capacity, LongSupplier clockMicros, long graceMicros) {
    int count = Integer.highestOneBit(Math.min(MAX_STRIPES, Math.max(1, capacity / MIN_KEYS)));
    this.capacity = capacity;
    this.clockMicros = clockMicros;
    this.stripes = new Stripe[count];
    BoundedCache<RuleStack, Cells> cells = new BoundedCache<>(MAX_STACKS, Cells::new);
    for (int i = 0; i < count; i++) {
      long share = (i + 1L) * capacity / count - (long) i * capacity / count;
      stripes[i] = new Stripe(1L << i, (int) share, graceMicros, cells);
    }
  }

  /** The stripe of a key, and of its ban. */
  Stripe of(StateKey key) {
    int spread = key.tag().hashCode() * 0x9E3779B9;
    return stripes[spread >>> 16 & stripes.length - 1];
  }

  Stripe[] all() {
    return stripes;
  }

  long clockMicros() {
    return clockMicros.getAsLong();
  }

  /** What is done under locks, at a time. */
  interface Action {
    long at(long clockMicros);
  }

  /**
   * Runs an action under the locks of some stripes, from the lowest bit up. Every thread locks in
   * the same order, so no deadlock can occur. The clock is read under the locks, so that time does
   * not run backwards in a log.
   */
  long locked(long mask, Action action) {
    long rest = mask & (mask - 1);
    Stripe stripe = stripes[Long.numberOfTrailingZeros(mask)];
    stripe.lock();
    try {
      return rest == 0 ? action.at(clockMicros.getAsLong()) : locked(rest, action);
    } finally {
      stripe.unlock();
    }
  }

  /** Logs a warning once: from then on new subjects are limited together. */
  void warnOfOverflow() {
    if (!overflowed.get() && overflowed.compareAndSet(false, true)) {
      LOG.warn(
          "The memory store is full: it holds {} keys, and further subjects are counted together. If"
              + " the traffic is legitimate, increase the maximum number of subjects",
          capacity);
    }
  }

  /**
   * A part of the keys, and the lock that guards it.
   *
   * <p>Live logs are never evicted for new ones: otherwise a denied caller could get a fresh log by
   * a flood of invented subjects. When a stripe is full of live logs, new subjects share the
   * overflow, one log for each limit key, until others expire: they are limited together.
   */
  static final class Stripe extends LogTable {

    /**
     * The most limit keys in the overflow of one stripe; further ones share one log for each charge
     * of a call.
     */
    private static final int MAX_OVERFLOWS = 64;

    /** Its bit in a set of stripes. */
    final long bit;

    private final StampedLock lock = new StampedLock();

    final LogTable overflows;

    Stripe(long bit, int capacity, long graceMicros, BoundedCache<RuleStack, Cells> cells) {
      super(capacity, graceMicros, cells);
      this.bit = bit;
      this.overflows = new LogTable(MAX_OVERFLOWS, graceMicros, cells);
    }

    void lock() {
      long unused = lock.writeLock();
    }

    void unlock() {
      lock.tryUnlockWrite();
    }

    /** The version of its state, for what reads before it locks; 0 while it is locked. */
    long version() {
      return lock.tryOptimisticRead();
    }

    /** Whether it has not been locked since it had this version. */
    boolean isUnchangedSince(long version) {
      return lock.validate(version);
    }

    /** Locks it, if it has not been locked since it had this version. */
    boolean lockIfUnchangedSince(long version) {
      return lock.tryConvertToWriteLock(version) != 0;
    }

    /**
     * The log of the overflow for a charge that may not have one of its own; one for each class of
     * calls that may be counted.
     *
     * @param index the index of the charge in its call
     */
    UnitLog overflow(Charge charge, int index, long clockMicros) {
      String kind = index + "." + charge.key().name();
      StateKey key = new StateKey("overflow." + kind, charge.limit());
      UnitLog known = overflows.find(key, clockMicros);
      if (known == null) {
        overflows.makeRoom(key, clockMicros);
      }
      if (known == null && overflows.full()) {
        key = new StateKey("rest." + kind, "");
        known = overflows.find(key, clockMicros);
      }
      return known == null ? new UnitLog(overflows, key) : known;
    }
  }
}
