// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.SlidingWindowLogRule;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class VerdictTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final StateKey KEY = StateKey.of("policy", Subject.global());

  private static RuleVerdict passes(long count) {
    return RuleVerdict.of(rule(count, HOUR))
        .remaining(3)
        .resetAfter(HOUR)
        .effectiveWindow(SECOND)
        .build();
  }

  private static RuleVerdict denies(long count, Duration retryAfter) {
    return RuleVerdict.of(rule(count, HOUR))
        .violatedFor(retryAfter)
        .resetAfter(HOUR)
        .effectiveWindow(retryAfter)
        .build();
  }

  private static RuleVerdict neverPasses(long count) {
    return RuleVerdict.of(rule(count, HOUR)).tooCostly().resetAfter(HOUR).build();
  }

  private static Verdict verdict(
      Outcome outcome, Optional<RuleVerdict> duplicate, RuleVerdict... rules) {
    Verdict.Builder verdict =
        Verdict.of(Policy.of("policy", rule(1, HOUR)), outcome).rules(Arrays.asList(rules));
    duplicate.ifPresent(verdict::duplicate);
    return verdict.build();
  }

  @Test
  void verdictsAreEqualIfAllTheirStepsAre() {
    Policy policy = Policy.of("policy", rule(1, HOUR));
    Reservation other =
        (Reservation)
            Proxy.newProxyInstance(
                Reservation.class.getClassLoader(),
                new Class<?>[] {Reservation.class},
                (p, m, a) -> m.getName().equals("equals") ? p == a[0] : 0);
    List<UnaryOperator<Verdict.Builder>> steps =
        List.of(
            UnaryOperator.identity(),
            verdict -> verdict.rules(List.of(passes(1))),
            verdict -> verdict.duplicate(passes(1)),
            verdict -> verdict.ban(SECOND),
            verdict -> verdict.delay(SECOND),
            verdict -> verdict.decidedBy(DecidedBy.NONE),
            verdict -> verdict.reason(FailureReason.TIMEOUT),
            verdict -> verdict.storeRetryAfter(SECOND),
            verdict -> verdict.reservation(other),
            verdict -> verdict.decidedAtMicros(1));
    for (UnaryOperator<Verdict.Builder> one : steps) {
      Verdict verdict = one.apply(Verdict.of(policy, Outcome.ALLOWED)).build();
      assertThat(verdict.withReservation(verdict.reservation()))
          .isEqualTo(verdict)
          .hasSameHashCodeAs(verdict);
      for (UnaryOperator<Verdict.Builder> step : steps) {
        assertThat(step.apply(Verdict.of(policy, Outcome.ALLOWED)).build().equals(verdict))
            .isEqualTo(step == one);
      }
    }
    assertThat(Verdict.of(policy, Outcome.LIMITED).build())
        .isNotEqualTo(Verdict.of(policy, Outcome.ALLOWED).build());
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
        RuleVerdict.of(never.rule()).tooCostly().resetAfter(HOUR).observed(true).build();
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
  void aVerdictMayBeReportedUnderAnotherPolicy() {
    Policy other = Policy.of("other", rule(2, HOUR));
    Verdict verdict = verdict(Outcome.LIMITED, Optional.of(passes(9)), denies(1, SECOND));
    assertThat(verdict.withPolicy(other).policy()).isEqualTo(other);
    assertThat(verdict.withPolicy(other).withPolicy(verdict.policy())).isEqualTo(verdict);
  }

  /** What the fallback has decided once is not a decision of the store. */
  @ParameterizedTest
  @CsvSource({
    "STORE, STORE, STORE",
    "STORE, FALLBACK, FALLBACK",
    "FALLBACK, STORE, FALLBACK",
    "LEASE, NONE, LEASE",
    "FALLBACK, NONE, FALLBACK"
  })
  void twoVerdictsOnOneCallAreReportedTogether(
      DecidedBy first, DecidedBy later, DecidedBy together) {
    Policy policy = Policy.of("policy", rule(1, HOUR));
    Policy both = Policy.of("both", rule(2, HOUR));
    Verdict.Builder one = Verdict.of(policy, Outcome.ALLOWED).rules(List.of(passes(1)));
    Verdict.Builder two =
        Verdict.of(policy, Outcome.ALLOWED).rules(List.of(passes(2))).duplicate(passes(3));
    Verdict joined = one.decidedBy(first).build().and(two.decidedBy(later).build(), both);
    assertThat(joined.policy()).isEqualTo(both);
    assertThat(joined.rules()).containsExactly(passes(1), passes(2));
    assertThat(joined.duplicate()).contains(passes(3));
    assertThat(joined.decidedBy()).isEqualTo(together);
  }

  private static RuleVerdict denial(String name, @Nullable Duration retryAfter) {
    RuleVerdict.Builder rule = RuleVerdict.of(SlidingWindowLogRule.of(1, MINUTE).withName(name));
    return (retryAfter == null ? rule.violated() : rule.violatedFor(retryAfter)).build();
  }

  private static Optional<String> denying(RuleVerdict... rules) {
    return Verdict.of(Policy.of("denying", SlidingWindowLogRule.of(1, MINUTE)), Outcome.LIMITED)
        .rules(List.of(rules))
        .build()
        .denying()
        .map(rule -> rule.rule().name());
  }

  @Test
  void theRuleThatDeniesForTheLongestTimeIsNamed() {
    RuleVerdict passes =
        RuleVerdict.of(SlidingWindowLogRule.of(1, MINUTE).withName("passes")).build();
    RuleVerdict observed =
        RuleVerdict.of(SlidingWindowLogRule.of(1, MINUTE).withName("observed"))
            .violatedFor(MINUTE.multipliedBy(9))
            .observed(true)
            .build();
    RuleVerdict costly =
        RuleVerdict.of(SlidingWindowLogRule.of(1, MINUTE).withName("costly")).tooCostly().build();
    RuleVerdict flight = denial("flight", null);
    RuleVerdict ten = denial("ten", Duration.ofSeconds(10));
    RuleVerdict thirty = denial("thirty", Duration.ofSeconds(30));

    assertThat(denying(passes, observed)).isEmpty();
    assertThat(denying(passes, ten, observed)).contains("ten");
    assertThat(denying(ten, thirty)).contains("thirty");
    assertThat(denying(thirty, ten)).contains("thirty");
    assertThat(denying(ten, denial("too", Duration.ofSeconds(10)))).as("the first").contains("ten");
    assertThat(denying(flight, ten)).contains("ten");
    assertThat(denying(flight)).contains("flight");
    assertThat(denying(thirty, costly, ten)).contains("costly");
  }
}
