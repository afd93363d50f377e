// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.FailureReason;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/**
 * The number of decisions of fallbacks since the start, by fallback and by the reason why the store
 * did not decide. There is one counter for each pair, so the size is fixed.
 */
public final class FallbackCounts {

  private final Map<Fallback, Map<FailureReason, LongAdder>> counts = new EnumMap<>(Fallback.class);

  public FallbackCounts() {
    for (Fallback fallback : Fallback.values()) {
      Map<FailureReason, LongAdder> ofFallback = new EnumMap<>(FailureReason.class);
      for (FailureReason reason : FailureReason.values()) {
        ofFallback.put(reason, new LongAdder());
      }
      counts.put(fallback, ofFallback);
    }
  }

  void count(Fallback fallback, FailureReason reason) {
    counter(fallback, reason).increment();
  }

  /** Decisions of this fallback for this reason. */
  public long of(Fallback fallback, FailureReason reason) {
    return counter(fallback, reason).sum();
  }

  /** Decisions of this fallback. */
  public long of(Fallback fallback) {
    return Stream.of(FailureReason.values()).mapToLong(reason -> of(fallback, reason)).sum();
  }

  /** Decisions of all fallbacks for this reason. */
  public long of(FailureReason reason) {
    return Stream.of(Fallback.values()).mapToLong(fallback -> of(fallback, reason)).sum();
  }

  private LongAdder counter(Fallback fallback, FailureReason reason) {
    return Objects.requireNonNull(Objects.requireNonNull(counts.get(fallback)).get(reason));
  }
}
