// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/**
 * The number of decisions of fallbacks since the start, by fallback and by the reason why the store
 * did not decide. Each pair has one counter, so the size is fixed.
 */
@SuppressWarnings("EnumOrdinal") // indexes of arrays in this process
public final class FallbackCounts {

  private final LongAdder[][] counts =
      new LongAdder[Fallback.values().length][FailureReason.values().length];

  public FallbackCounts() {
    for (LongAdder[] reasons : counts) {
      Arrays.setAll(reasons, reason -> new LongAdder());
    }
  }

  void count(Fallback fallback, FailureReason reason) {
    counts[fallback.ordinal()][reason.ordinal()].increment();
  }

  /** Decisions of this fallback for this reason. */
  public long of(Fallback fallback, FailureReason reason) {
    return counts[fallback.ordinal()][reason.ordinal()].sum();
  }

  /** Decisions of this fallback. */
  public long of(Fallback fallback) {
    return Stream.of(FailureReason.values()).mapToLong(reason -> of(fallback, reason)).sum();
  }

  /** Decisions of all fallbacks for this reason. */
  public long of(FailureReason reason) {
    return Stream.of(Fallback.values()).mapToLong(fallback -> of(fallback, reason)).sum();
  }
}
