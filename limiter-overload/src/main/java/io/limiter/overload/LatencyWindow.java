// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The latencies of some time, in buckets that are 4.4 % wide, from 1 µs to 70 minutes. Threads may
 * add while it is read or cleared: what they add then counts in either window, or in none.
 */
final class LatencyWindow {

  private static final int PER_OCTAVE = 16;
  private static final int OCTAVES = 32;
  private static final double NANOS = 1_000;

  private final AtomicIntegerArray counts = new AtomicIntegerArray(PER_OCTAVE * OCTAVES);
  private final AtomicInteger size = new AtomicInteger();

  /** Adds one, in nanoseconds, and returns how many there are. */
  int add(long latency) {
    counts.getAndIncrement(bucket(latency));
    return size.incrementAndGet();
  }

  private static int bucket(long latency) {
    double octaves = Math.log(Math.max(1, latency / NANOS)) / Math.log(2);
    return Math.min(PER_OCTAVE * OCTAVES - 1, (int) (octaves * PER_OCTAVE));
  }

  int size() {
    return size.get();
  }

  /** The latency, in nanoseconds, that this share of all does not exceed; 0 without any. */
  double quantile(double share) {
    int all = size.get();
    if (all == 0) {
      return 0;
    }
    double rank = share * all;
    double below = 0;
    for (int i = 0; i < counts.length(); i++) {
      int count = counts.get(i);
      if (below + count >= rank && count > 0) {
        double part = (rank - below) / count;
        return NANOS * Math.pow(2, (i + part) / PER_OCTAVE);
      }
      below += count;
    }
    return NANOS * Math.pow(2, OCTAVES);
  }

  void clear() {
    for (int i = 0; i < counts.length(); i++) {
      if (counts.get(i) != 0) {
        counts.set(i, 0);
      }
    }
    size.set(0);
  }
}
