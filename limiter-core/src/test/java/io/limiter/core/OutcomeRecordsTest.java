// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Invalid concurrency limits and countings, as {@link RecordsTest}. */
class OutcomeRecordsTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Rule THREE = ConcurrencyLimitRule.of(3);

  private static void assertRejected(ThrowingCallable call, String message) {
    assertThatIllegalArgumentException().isThrownBy(call).withMessage(message);
  }

  private static RuleStack stack(Rule... rules) {
    return RuleStack.of(List.of(rules));
  }

  @Test
  void aConcurrencyLimitIsNamedAfterItsCountAndHasPermitsOfHalfAMinute() {
    assertThat(THREE.name()).isEqualTo("3-in-flight");
    assertThat(THREE.window()).isEqualTo(Duration.ofSeconds(30));
    assertThat(THREE.withName("few").withCount(4))
        .isEqualTo(new ConcurrencyLimitRule("few", 4, Duration.ofSeconds(30)));
  }

  @Test
  void aPermitOutlivesAPauseOfItsInstance() {
    assertThat(ConcurrencyLimitRule.of(1, Duration.ofSeconds(1)).permitDuration()).hasSeconds(1);
    assertThat(ConcurrencyLimitRule.of(1, Duration.ofHours(1)).permitDuration()).hasHours(1);
    for (Duration wrong : List.of(Duration.ofMillis(999), Duration.ofHours(1).plusMillis(1))) {
      assertRejected(
          () -> ConcurrencyLimitRule.of(1, wrong),
          "The rule '1-in-flight' has a permit duration of %s: use 1 s to 1 h, since a concurrency permit is renewed every third of it and has to survive a pause of its instance"
              .formatted(wrong));
    }
  }

  @Test
  void callsInFlightAreBounded() {
    assertThat(ConcurrencyLimitRule.of(10_000).count()).isEqualTo(10_000);
    assertRejected(
        () -> ConcurrencyLimitRule.of(10_001),
        "The rule '10001-in-flight' has count 10001: use 1 to 10000");
    assertRejected(
        () -> ConcurrencyLimitRule.of(0), "The rule '0-in-flight' has count 0: use 1 to 10000");
  }

  @Test
  void concurrencyLimitsShareAStackOnlyWithEachOther() {
    assertThat(stack(THREE, ConcurrencyLimitRule.of(5, Duration.ofSeconds(9))).permitDuration())
        .contains(Duration.ofSeconds(9));
    assertThat(stack(rule(1, MINUTE)).permitDuration()).isEmpty();
    assertRejected(
        () -> stack(THREE, rule(1, MINUTE)),
        "The rule '1-per-60s' shares a stack with a concurrency limit: put each into a stack of its own, and join their requests with LimitRequest.and");
  }

  @Test
  void callsInFlightAreCountedWhateverTheirCompletion() {
    assertRejected(
        () -> stack(THREE).withCounting(Counting.FAILURES),
        "The rule '3-in-flight' counts FAILURES: a concurrency limit counts every call, so use Counting.ALL");
    assertThat(stack(THREE).withCounting(Counting.ALL)).isEqualTo(stack(THREE));
  }

  @Test
  void waitingCallsAreCountedWhateverTheirCompletion() {
    RuleStack waiting = stack(LeakyBucketRule.of(2, MINUTE, 5, MINUTE).withName("turns"));
    assertRejected(
        () -> waiting.withCounting(Counting.SUCCESSES),
        "The rule 'turns' makes calls wait and counts SUCCESSES: use Counting.ALL, since a departure that has passed cannot be given back, and put rules that count by outcome into another stack");
  }

  @Test
  void aConcurrencyLimitHasNoBan() {
    assertRejected(
        () -> stack(THREE).withBan(BanRule.of(3, MINUTE, MINUTE)),
        "The rule '3-in-flight' is a concurrency limit, which cannot have a ban, since it is unknown when a permit becomes free: put the ban on the other rules of the subject");
  }

  @Test
  void aStackIsAnotherIfItCountsOtherCalls() {
    RuleStack all = stack(rule(3, MINUTE));
    RuleStack failures = all.withBan(BanRule.of(3, MINUTE, MINUTE)).withCounting(Counting.FAILURES);
    assertThat(failures.withCounting(Counting.ALL))
        .isEqualTo(all.withBan(BanRule.of(3, MINUTE, MINUTE)))
        .isNotEqualTo(failures);
    assertThat(failures.ban()).isPresent();
    assertThat(failures.withBan(BanRule.of(1, MINUTE, MINUTE)).counting())
        .isEqualTo(Counting.FAILURES);
    assertThat(failures.toString()).endsWith(", FAILURES");
  }

  @Test
  void aDuplicateGuardCountsEverySubmission() {
    String remedy = "use a rule that counts every submission; one that fails is released";
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Policy.of("form", rule(1, MINUTE)).withDuplicates(THREE))
        .withMessageStartingWith("The duplicate guard of the policy 'form' is [Concurrency")
        .withMessageEndingWith(remedy);
    RuleStack failures = stack(rule(1, MINUTE)).withCounting(Counting.FAILURES);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Policy("form", "form", List.of(), Optional.of(failures)))
        .withMessageEndingWith(remedy);
  }

  @Test
  void onlyAPolicyWithRulesCountsByOutcome() {
    Policy policy = new Policy("form", "form", List.of(), Optional.of(stack(rule(1, MINUTE))));
    assertThatThrownBy(() -> policy.withCounting(Counting.FAILURES))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("The policy 'form' has no rules that could count FAILURES: add rules");
  }

  @Test
  void aStackCountsByTheKeyOfItsClass() {
    RuleStack rules = stack(rule(1, MINUTE));
    StateKey all = StateKey.of("limit", Subject.global()).of(rules);
    assertThat(all.of(rules)).isSameAs(all);
    for (Counting counting : List.of(Counting.FAILURES, Counting.SUCCESSES)) {
      StateKey own = all.of(rules.withCounting(counting));
      assertThat(own).isNotEqualTo(all);
      assertThat(own.of(rules)).isEqualTo(all);
      assertThat(new Charge("limit", own, rules.withCounting(counting), 1).key()).isEqualTo(own);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> new Charge("limit", own, rules, 1))
          .withMessageEndingWith("use StateKey.of(limit, subject).of(stack)");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Charge("limit", all, stack(THREE), 1))
        .withMessageEndingWith(
            "cannot use the state key '%s', which is for other rules: use StateKey.of(limit, subject).of(stack)"
                .formatted(all.name()));
  }

  @Test
  void anActualCostIsWithinTheBoundsOfACost() {
    assertRejected(
        () -> Completion.failed().withCost(-1), "A call has cost -1 units: use 0 to 1000000");
    assertRejected(
        () -> Completion.failed().withCost(1_000_001),
        "A call has cost 1000001 units: use 0 to 1000000");
    Charge charge = Charge.of("limit", Subject.global(), stack(rule(9, MINUTE))).withCost(5);
    assertThat(Completion.succeeded().withCosts(any -> -3).returned(charge)).isEqualTo(5);
    assertThat(Completion.succeeded().withCost(5).returned(charge)).isZero();
  }

  @Test
  void retryAfterIgnoresRulesThatCannotKnowTheirWait() {
    RuleVerdict inFlight = RuleVerdict.of(THREE).violated().resetAfter(THREE.window()).build();
    RuleVerdict minute =
        RuleVerdict.of(rule(1, MINUTE)).violatedFor(MINUTE).resetAfter(MINUTE).build();
    RuleVerdict never = RuleVerdict.of(rule(1, MINUTE)).tooCostly().resetAfter(MINUTE).build();
    assertThat(verdict(inFlight).retryAfter()).isEmpty();
    assertThat(verdict(inFlight).tooCostly()).isFalse();
    assertThat(verdict(inFlight, minute).retryAfter()).contains(MINUTE);
    assertThat(verdict(inFlight, minute, never).retryAfter()).isEmpty();
    assertThat(verdict(inFlight, minute, never).tooCostly()).isTrue();
  }

  private static Verdict verdict(RuleVerdict... rules) {
    return Verdict.of(Policy.of("policy", THREE), Outcome.LIMITED).rules(List.of(rules)).build();
  }
}
