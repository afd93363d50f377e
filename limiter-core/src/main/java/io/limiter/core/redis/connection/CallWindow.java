// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts the calls that ended within the last second, and the failures among them, to a tenth of a
 * second. Counting takes one compare-and-set and no allocation.
 */
final class CallWindow {

  private static final long SLOT_NANOS = 100_000_000;
  private static final int SLOTS = 10;

  /**
   * A slot consists of 24 bits for the number of its tenth of a second, 20 for failures, 20 for
   * calls.
   */
  private static final int BITS = 20;

  private static final int TICK_SHIFT = 2 * BITS;
  private static final long COUNT_MASK = (1L << BITS) - 1;
  private static final long TICK_MASK = (1L << (Long.SIZE - TICK_SHIFT)) - 1;
  private static final long A_CALL = 1;
  private static final long A_FAILED_CALL = (1L << BITS) | A_CALL;

  private final long startNanos;
  private final AtomicLongArray slots = new AtomicLongArray(SLOTS);

  /**
   * @param nowNanos nanoseconds of the clock that all other times here are of
   */
  CallWindow(long nowNanos) {
    this.startNanos = nowNanos;
  }

  void count(long nowNanos, boolean failed) {
    long tick = tick(nowNanos);
    int index = (int) (tick % SLOTS);
    while (true) {
      long old = slots.get(index);
      long base = old >>> TICK_SHIFT == (tick & TICK_MASK) ? old : (tick & TICK_MASK) << TICK_SHIFT;
      boolean full = (base & COUNT_MASK) == COUNT_MASK; // a million in a tenth of a second
      if (full || slots.compareAndSet(index, old, base + (failed ? A_FAILED_CALL : A_CALL))) {
        return;
      }
    }
  }

  long calls(long nowNanos) {
    return sum(nowNanos, 0);
  }

  long failures(long nowNanos) {
    return sum(nowNanos, BITS);
  }

  private long sum(long nowNanos, int shift) {
    long tick = tick(nowNanos);
    long sum = 0;
    for (int i = 0; i < SLOTS; i++) {
      long slot = slots.get(i);
      long age = (tick - (slot >>> TICK_SHIFT)) & TICK_MASK;
      sum += age < SLOTS ? (slot >>> shift) & COUNT_MASK : 0;
    }
    return sum;
  }

  private long tick(long nowNanos) {
    return Math.max(0, nowNanos - startNanos) / SLOT_NANOS;
  }
}
