// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.Comparator;
import java.util.Optional;
import java.util.OptionalLong;

/** How long a refused caller has to wait, and because of which rule. */
@Internal
public final class DenialTimes {

  /** The shortest wait that can be told; also where the next call asks the store again. */
  private static final long MIN_SECONDS = 1;

  private DenialTimes() {}

  /**
   * The value of {@code Retry-After}: whole seconds rounded up, at least 1. While the store is away
   * it is the time until that is asked again. There is none where no wait would help or nobody
   * knows how long it would be, as where only calls in flight stand in the way, nor for a
   * duplicate: a client that obeys it would submit once more what was accepted. For who is banned
   * it is the rest of the ban, or longer.
   */
  public static OptionalLong retryAfter(Verdict verdict) {
    return switch (verdict.outcome()) {
      case LIMITED, BANNED ->
          verdict.retryAfter().isPresent()
              ? OptionalLong.of(told(verdict.retryAfter().get()))
              : OptionalLong.empty();
      case UNAVAILABLE ->
          OptionalLong.of(verdict.retryAfter().map(DenialTimes::told).orElse(MIN_SECONDS));
      case DUPLICATE, ALLOWED -> OptionalLong.empty();
    };
  }

  /**
   * The rule that the caller has to wait longest for; that of the duplicate guard if it refuses.
   */
  static Optional<RuleVerdict> longest(Verdict verdict) {
    return switch (verdict.outcome()) {
      case LIMITED, BANNED -> violatedLongest(verdict);
      case DUPLICATE -> verdict.duplicate();
      case UNAVAILABLE, ALLOWED -> Optional.empty();
    };
  }

  /**
   * The rule that says most about where the caller stands: the one to wait longest for if rules
   * refuse, else the one with the fewest units left, of two the one that gets some later.
   */
  public static Optional<RuleVerdict> closestToExhaustion(Verdict verdict) {
    return violatedLongest(verdict)
        .or(
            () ->
                verdict.rules().stream()
                    .min(
                        Comparator.comparingLong(RuleVerdict::remaining)
                            .thenComparing(
                                RuleVerdict::effectiveWindow, Comparator.reverseOrder())));
  }

  private static Optional<RuleVerdict> violatedLongest(Verdict verdict) {
    return verdict.rules().stream()
        .filter(RuleVerdict::denies)
        .max(Comparator.comparing(DenialTimes::retryAfterOrEver));
  }

  /** Whether the rules would never admit such a call, because it costs more than one allows. */
  public static boolean tooCostly(Verdict verdict) {
    return verdict.tooCostly();
  }

  /** A call that costs more than a rule allows waits for ever; for a free place nobody knows. */
  private static Duration retryAfterOrEver(RuleVerdict rule) {
    return rule.retryAfter()
        .orElse(rule.tooCostly() ? Duration.ofSeconds(Long.MAX_VALUE) : Duration.ZERO);
  }

  private static long told(Duration wait) {
    return Math.max(MIN_SECONDS, secondsUp(wait));
  }

  public static long secondsUp(Duration duration) {
    return duration.toSeconds() + (duration.toNanosPart() > 0 ? 1 : 0);
  }
}
