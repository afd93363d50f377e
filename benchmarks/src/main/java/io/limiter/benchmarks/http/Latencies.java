// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

/**
 * A histogram of answer times of fixed size: each power of two is divided into 128 equal steps, so
 * that a reading is less than 1 % above the recorded value. For one thread.
 */
final class Latencies {

  private static final int STEP_BITS = 7;
  private static final int STEPS = 1 << STEP_BITS;

  /** More than a day. */
  private static final int MAX_BITS = 47;

  private final long[] counts = new long[(MAX_BITS - STEP_BITS + 2) << STEP_BITS];
  private long total;

  void record(long nanos) {
    counts[index(Math.min(Math.max(nanos, 0), (1L << MAX_BITS) - 1))]++;
    total++;
  }

  long count() {
    return total;
  }

  /**
   * In microseconds, the time within which this share of the answers arrived; 0 if there were none.
   *
   * @param share such as 0.99
   */
  double micros(double share) {
    long rank = Math.max(1, (long) Math.ceil(share * total));
    long seen = 0;
    for (int i = 0; i < counts.length; i++) {
      seen += counts[i];
      if (seen >= rank) {
        return highest(i) / 1_000.0;
      }
    }
    return 0;
  }

  private static int index(long nanos) {
    int shift = Math.max(0, Long.SIZE - STEP_BITS - 1 - Long.numberOfLeadingZeros(nanos | STEPS));
    return (shift << STEP_BITS) + (int) (nanos >> shift);
  }

  /** The largest value that is counted at this index. */
  private static long highest(int index) {
    int shift = Math.max(0, (index >> STEP_BITS) - 1);
    long step = index - ((long) shift << STEP_BITS);
    return ((step + 1) << shift) - 1;
  }
}
