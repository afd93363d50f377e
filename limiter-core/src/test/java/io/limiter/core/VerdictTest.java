// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class VerdictTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration HOUR = Duration.ofHours(1);

  private static RuleVerdict passes(long count) {
    return new RuleVerdict(rule(count, HOUR), false, 3, Optional.empty(), HOUR, SECOND);
  }

  private static RuleVerdict denies(long count, Duration retryAfter) {
    return new RuleVerdict(rule(count, HOUR), true, 0, Optional.of(retryAfter), HOUR, retryAfter);
  }

  private static RuleVerdict neverPasses(long count) {
    return new RuleVerdict(rule(count, HOUR), true, 0, Optional.empty(), HOUR, HOUR);
  }

  private static Verdict verdict(
      Outcome outcome, Optional<RuleVerdict> duplicate, RuleVerdict... rules) {
    Policy policy = Policy.of("policy", rule(1, HOUR));
    List<RuleVerdict> list = Arrays.asList(rules);
    return new Verdict(
        policy,
        outcome,
        list,
        duplicate,
        Optional.empty(),
        Duration.ZERO,
        DecidedBy.STORE,
        Optional.empty(),
        Optional.empty(),
        Reservation.NOTHING);
  }

  @Test
  void anAllowedCallNeedNotWait() {
    Verdict verdict = verdict(Outcome.ALLOWED, Optional.of(passes(9)), passes(1), passes(2));
    assertThat(verdict.allowed()).isTrue();
    assertThat(verdict.violated()).isEmpty();
    assertThat(verdict.retryAfter()).isEmpty();
  }

  @Test
  void retryAfterIsTheLongestOfAllViolatedRules() {
    RuleVerdict brief = denies(1, SECOND);
    RuleVerdict lengthy = denies(2, HOUR);
    Verdict verdict = verdict(Outcome.LIMITED, Optional.empty(), brief, passes(3), lengthy);
    assertThat(verdict.allowed()).isFalse();
    assertThat(verdict.violated()).containsExactly(brief, lengthy);
    assertThat(verdict.retryAfter()).contains(HOUR);
  }

  @Test
  void retryAfterMindsTheDuplicateGuard() {
    assertThat(verdict(Outcome.DUPLICATE, Optional.of(denies(1, HOUR)), passes(1)).retryAfter())
        .contains(HOUR);
    assertThat(
            verdict(Outcome.LIMITED, Optional.of(denies(1, HOUR)), denies(1, SECOND)).retryAfter())
        .contains(HOUR);
  }

  @Test
  void thereIsNoRetryAfterIfWaitingDoesNotHelp() {
    assertThat(
            verdict(Outcome.LIMITED, Optional.empty(), denies(1, HOUR), neverPasses(2))
                .retryAfter())
        .isEmpty();
  }

  @Test
  void noWaitHelpsWhereTheGuardNeverPassesUnlessItIsOnlyObserved() {
    RuleVerdict never = neverPasses(2);
    RuleVerdict observed =
        new RuleVerdict(never.rule(), true, 0, Optional.empty(), HOUR, HOUR, true, true);
    RuleVerdict denying = denies(1, SECOND);
    Verdict verdict = verdict(Outcome.LIMITED, Optional.of(never), denying);
    assertThat(verdict.tooCostly()).isTrue();
    assertThat(verdict.retryAfter()).isEmpty();
    assertThat(verdict(Outcome.LIMITED, Optional.of(observed), denying).retryAfter())
        .contains(SECOND);
    assertThat(verdict(Outcome.DUPLICATE, Optional.of(denying)).tooCostly()).isFalse();
  }

  @Test
  void aVerdictOfTheFallbackGivesTheReason() {
    Verdict verdict = verdict(Outcome.ALLOWED, Optional.empty(), passes(1));
    Verdict fallback =
        verdict.fromFallback(new StoreException(FailureReason.TIMEOUT, "away", null));
    assertThat(fallback.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
    assertThat(fallback.reason()).contains(FailureReason.TIMEOUT);
    assertThat(fallback.rules()).isEqualTo(verdict.rules());
    assertThat(fallback.delay()).isEqualTo(verdict.delay());
  }

  @Test
  void withoutADecisionRetryAfterIsWhenTheStoreIsAskedAgain() {
    Verdict unavailable = verdict(Outcome.UNAVAILABLE, Optional.empty());
    StoreException away = StoreException.notAsked("away", SECOND);
    assertThat(unavailable.retryAfter()).isEmpty();
    assertThat(unavailable.fromFallback(away).retryAfter()).contains(SECOND);
    assertThat(unavailable.fromFallback(away).storeRetryAfter()).contains(SECOND);
  }

  @Test
  void noCallWaitsForTheStoreWhereTheFallbackAllows() {
    StoreException away = StoreException.notAsked("away", HOUR);
    Verdict allowed = verdict(Outcome.ALLOWED, Optional.empty(), passes(1));
    Verdict limited = verdict(Outcome.LIMITED, Optional.empty(), denies(1, SECOND));
    assertThat(allowed.fromFallback(away).retryAfter()).isEmpty();
    assertThat(limited.fromFallback(away).retryAfter()).contains(SECOND);
  }

  @Test
  void whereNoStoreIsAskedTheVerdictNamesNone() {
    Verdict free = Verdict.free(Policy.of("policy", rule(1, HOUR)));
    assertThat(free.decidedBy()).isEqualTo(DecidedBy.NONE);
    assertThat(free.reason()).isEmpty();
    assertThat(free.allowed()).isTrue();
  }

  @Test
  void nothingIsGivenBackForNothing() {
    assertThat(Reservation.NOTHING.refund().toCompletableFuture()).isCompletedWithValue(0L);
    assertThat(Reservation.NOTHING.release().toCompletableFuture()).isCompletedWithValue(0L);
  }
}
