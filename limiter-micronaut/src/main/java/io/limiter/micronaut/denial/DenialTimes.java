// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.Comparator;
import java.util.Optional;
import java.util.OptionalLong;

/** The time that a denied client has to wait, and the rule that requires it. */
@Internal
public final class DenialTimes {

  /** The shortest wait that is reported, also if the next call is decided by the store again. */
  private static final long MIN_SECONDS = 1;

  private DenialTimes() {}

  /**
   * The value of {@code Retry-After}: whole seconds rounded up, at least 1. While the store is away
   * it is the time until the next attempt to use it. It is empty if no wait would help or the wait
   * is unknown, as for a concurrency limit, and for a duplicate: a client that obeys it would
   * repeat a submission that was accepted. For a banned subject it is the remaining time of the
   * ban, or longer.
   */
  public static OptionalLong retryAfter(Verdict verdict) {
    return switch (verdict.outcome()) {
      case LIMITED, BANNED ->
          verdict.retryAfter().isPresent()
              ? OptionalLong.of(retryAfterSeconds(verdict.retryAfter().get()))
              : OptionalLong.empty();
      case UNAVAILABLE ->
          OptionalLong.of(
              verdict.retryAfter().map(DenialTimes::retryAfterSeconds).orElse(MIN_SECONDS));
      case DUPLICATE, ALLOWED -> OptionalLong.empty();
    };
  }

  /** The violated rule with the longest wait; the rule of the duplicate guard if that denies. */
  public static Optional<RuleVerdict> longest(Verdict verdict) {
    return switch (verdict.outcome()) {
      case LIMITED, BANNED -> violatedLongest(verdict);
      case DUPLICATE -> verdict.duplicate();
      case UNAVAILABLE, ALLOWED -> Optional.empty();
    };
  }

  /**
   * The rule that is closest to exhaustion: if rules deny, the one with the longest wait; else the
   * one with the fewest remaining units, and of equal ones the one with the longer window.
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

  /**
   * The wait is infinite for a call that costs more than a rule allows, and unknown for a
   * concurrency permit.
   */
  private static Duration retryAfterOrEver(RuleVerdict rule) {
    return rule.retryAfter()
        .orElse(rule.tooCostly() ? Duration.ofSeconds(Long.MAX_VALUE) : Duration.ZERO);
  }

  private static long retryAfterSeconds(Duration wait) {
    return Math.max(MIN_SECONDS, secondsUp(wait));
  }

  public static long secondsUp(Duration duration) {
    return duration.toSeconds() + (duration.toNanosPart() > 0 ? 1 : 0);
  }
}
