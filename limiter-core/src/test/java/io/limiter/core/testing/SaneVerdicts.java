// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import java.time.Duration;
import java.util.stream.Stream;

/** Properties of every verdict, whatever reply its store received. */
public final class SaneVerdicts {

  /** No time in Redis is later: 2^53 microseconds. */
  private static final Duration LATEST = Duration.ofDays(366L * 286);

  private SaneVerdicts() {}

  /** Decided by the store, or by a fallback that gives its reason; with possible numbers. */
  public static void assertSane(Verdict verdict) {
    if (verdict.decidedBy() == DecidedBy.FALLBACK) {
      assertThat(verdict.reason()).isPresent();
    } else {
      assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.STORE);
    }
    boolean denied = false;
    for (RuleVerdict rule : verdict.rules()) {
      assertSane(rule);
      denied |= rule.denies();
      if (!verdict.allowed()) {
        assertThat(rule.taken()).as("taken by a denied call").isZero();
      }
    }
    if (verdict.outcome() == Outcome.ALLOWED) {
      assertThat(denied).as("a rule denies, and the call is allowed").isFalse();
    }
    Stream.concat(Stream.of(verdict.delay()), verdict.ban().stream())
        .forEach(time -> assertThat(time).isBetween(Duration.ZERO, LATEST));
  }

  private static void assertSane(RuleVerdict rule) {
    assertThat(rule.remaining()).isBetween(0L, rule.rule().capacity());
    rule.retryAfter().ifPresent(time -> assertThat(time).isBetween(Duration.ZERO, LATEST));
    assertThat(rule.resetAfter()).isBetween(Duration.ZERO, LATEST);
    assertThat(rule.effectiveWindow()).isBetween(Duration.ZERO, LATEST);
  }

  /** Whether the fallback decided because of an error. */
  public static boolean isOfError(Verdict verdict) {
    return verdict.reason().filter(FailureReason.ERROR::equals).isPresent();
  }
}
