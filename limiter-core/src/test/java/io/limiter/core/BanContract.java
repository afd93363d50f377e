// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A subject that is denied too often is banned for a while. */
public interface BanContract extends StoreHarness {

  Duration THIRTY = SECOND.multipliedBy(30);
  BanRule FIVE_IN_TEN = BanRule.of(5, SECOND.multipliedBy(10), THIRTY);

  private static LimitRequest banning(BanRule ban, Rule... rules) {
    return LimitRequest.of(Policy.of("policy", rules).withBan(ban), new Subject("user", "x"));
  }

  private void assertBanned(LimitRequest call, Duration rest) {
    Verdict verdict = acquire(call);
    assertThat(verdict.outcome()).isEqualTo(Outcome.BANNED);
    assertThat(verdict.ban()).contains(rest);
  }

  private void assertLimited(int times, LimitRequest call) {
    for (int i = 0; i < times; i++) {
      assertLimited(call);
    }
  }

  @Test
  default void fiveDenialsWithinTenSecondsStartABanOfThirty() {
    for (Rule second :
        List.of(rule(1, SECOND), FixedWindowRule.of(1, SECOND), TokenBucketRule.of(1, 1, SECOND))) {
      Policy policy = Policy.of(second.getClass().getSimpleName(), second).withBan(FIVE_IN_TEN);
      LimitRequest call = LimitRequest.of(policy, new Subject("user", "x"));
      assertAllowed(call);
      assertLimited(4, call);
      assertBanned(call, THIRTY);
      advance(SECOND);
      Verdict during = acquire(call);
      assertThat(during.outcome()).isEqualTo(Outcome.BANNED);
      assertThat(during.violated()).isEmpty(); // the rule would admit it
      assertThat(during.rules().get(0).remaining()).isEqualTo(1);
      assertThat(during.retryAfter()).contains(SECOND.multipliedBy(29));
      advance(SECOND.multipliedBy(29).minus(TICK));
      assertBanned(call, TICK);
      advance(TICK);
      assertAllowed(call);
      assertLimited(4, call);
      assertBanned(call, THIRTY);
    }
  }

  @Test
  default void retryAfterOfABanIsTheLongerOfBanAndRules() {
    LimitRequest call = banning(BanRule.of(1, SECOND, THIRTY), rule(1, HOUR));
    assertAllowed(call);
    assertThat(acquire(call).retryAfter()).contains(HOUR);
    assertThat(acquire(call.withCost(2)).retryAfter()).isEmpty();
  }

  @Test
  default void olderDenialsDoNotCount() {
    LimitRequest call = banning(FIVE_IN_TEN, rule(1, HOUR));
    assertAllowed(call);
    assertLimited(4, call);
    advance(SECOND.multipliedBy(10));
    assertLimited(4, call);
    advance(SECOND.multipliedBy(10).minus(TICK));
    assertBanned(call, THIRTY);
  }

  @Test
  default void callsDuringABanChangeNothing() {
    LimitRequest call = banning(FIVE_IN_TEN, rule(1, HOUR), FixedWindowRule.of(2, HOUR));
    assertAllowed(call);
    assertLimited(4, call);
    assertBanned(call, THIRTY);
    List<Optional<String>> before = stored(call);
    advance(SECOND);
    for (int i = 0; i < 10; i++) {
      assertBanned(call, THIRTY.minus(SECOND));
    }
    assertThat(stored(call)).isEqualTo(before);
  }

  @Test
  default void onlyDeniedAcquisitionsCount() {
    LimitRequest call = banning(BanRule.of(2, MINUTE, THIRTY), rule(1, HOUR));
    assertAllowed(call);
    for (int i = 0; i < 5; i++) {
      assertThat(peek(call).outcome()).isEqualTo(Outcome.LIMITED);
      assertThat(record(call).outcome()).isEqualTo(Outcome.ALLOWED);
    }
    assertLimited(call);
    assertBanned(call, THIRTY);
  }

  @Test
  default void peekShowsABanAndRecordIgnoresIt() {
    LimitRequest call = banning(BanRule.of(1, MINUTE, THIRTY), FixedWindowRule.of(5, SECOND));
    assertBanned(call.withCost(6), THIRTY);
    advance(SECOND);
    Verdict look = peek(call);
    assertThat(look.outcome()).isEqualTo(Outcome.BANNED);
    assertThat(look.ban()).contains(THIRTY.minus(SECOND));
    Verdict counted = record(call);
    assertThat(counted.outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(counted.ban()).isEmpty();
    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(4);
    assertBanned(call, THIRTY.minus(SECOND));
  }

  @Test
  default void bansGrowUntilTheSubjectKeepsOutOfThem() {
    Duration longest = SECOND.multipliedBy(100);
    LimitRequest call =
        banning(BanRule.of(1, SECOND, THIRTY).growing(2, longest), FixedWindowRule.of(5, SECOND))
            .withCost(6);
    for (int seconds : new int[] {30, 60, 100, 100}) {
      assertBanned(call, SECOND.multipliedBy(seconds));
      advance(SECOND.multipliedBy(seconds));
    }
    advance(longest.minus(TICK));
    assertBanned(call, longest);
    advance(longest);
    advance(longest);
    assertBanned(call, THIRTY);
  }

  @Test
  default void denialsByAnotherSubjectOrTheGuardAreNoViolations() {
    LimitRequest banning = banning(BanRule.of(1, MINUTE, THIRTY), rule(9, HOUR));
    LimitRequest full = StoreHarness.call("full", rule(1, HOUR));
    LimitRequest guarded =
        LimitRequest.of(
            banning.policy().withDuplicates(rule(1, HOUR)),
            new Subject("user", "x"),
            Optional.of("form"));
    assertAllowed(full);
    assertLimited(3, banning.and(full));
    assertAllowed(guarded);
    assertThat(acquire(guarded).outcome()).isEqualTo(Outcome.DUPLICATE);
    assertAllowed(banning);
  }

  @Test
  default void aBanOfOneSubjectDeniesTheWholeCall() {
    LimitRequest banned = banning(BanRule.of(1, MINUTE, THIRTY), FixedWindowRule.of(2, SECOND));
    LimitRequest other = StoreHarness.call("other", rule(9, HOUR), FixedWindowRule.of(9, MINUTE));
    assertBanned(banned.withCost(3), THIRTY);
    List<Optional<String>> before = stored(other);
    assertBanned(banned.and(other), THIRTY);
    assertThat(stored(other)).isEqualTo(before);
  }

  @Test
  default void aClockSetBackMakesNoBanLonger() {
    LimitRequest call = banning(BanRule.of(1, MINUTE, THIRTY), rule(5, SECOND));
    assertBanned(call.withCost(6), THIRTY);
    advance(SECOND.multipliedBy(10));
    assertBanned(call, SECOND.multipliedBy(20));
    advance(HOUR.negated());
    assertBanned(call, THIRTY); // time continues from the start of the ban
    advance(THIRTY.minus(TICK));
    assertBanned(call, TICK);
    advance(TICK);
    assertAllowed(call);
  }

  @Test
  default void aResetEndsABan() {
    LimitRequest call = banning(BanRule.of(1, MINUTE, THIRTY), rule(5, SECOND));
    assertBanned(call.withCost(6), THIRTY);
    assertThat(store().reset(List.of(call.charge(0).key())))
        .succeedsWithin(SECOND.multipliedBy(10));
    assertAllowed(call);
  }

  private void lift(LimitRequest... calls) {
    assertThat(store().liftBans(Stream.of(calls).map(call -> call.charge(0).key()).toList()))
        .succeedsWithin(SECOND.multipliedBy(10));
  }

  @Test
  default void aLiftedBanIsForgottenAndTheUnitsStayCounted() {
    for (Rule second :
        List.of(rule(9, HOUR), FixedWindowRule.of(9, HOUR), TokenBucketRule.of(9, 1, HOUR))) {
      Policy policy =
          Policy.of(second.getClass().getSimpleName(), rule(50, HOUR), second)
              .withBan(BanRule.of(2, MINUTE, THIRTY).growing(2, HOUR));
      LimitRequest call = LimitRequest.of(policy, new Subject("user", "x"));
      acquire(2, call);
      assertLimited(call.withCost(8));
      assertBanned(call.withCost(8), THIRTY);
      advance(TICK);
      lift(call);
      assertThat(peek(call).ban()).isEmpty();
      assertAllowed(call);
      assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(47L, 6L);
      assertLimited(call.withCost(8)); // the first violation
      assertBanned(call.withCost(8), THIRTY); // as long as a first one
    }
  }

  @Test
  default void liftingABanForgetsTheViolationsTowardsTheNextOne() {
    LimitRequest call = banning(FIVE_IN_TEN, rule(1, HOUR));
    assertAllowed(call);
    assertLimited(4, call);
    lift(call);
    assertLimited(4, call);
    assertBanned(call, THIRTY);
  }

  @Test
  default void liftingABanChangesNothingElse() {
    LimitRequest banned = banning(FIVE_IN_TEN, rule(1, HOUR));
    LimitRequest free = StoreHarness.call("free", rule(50, HOUR), FixedWindowRule.of(9, HOUR));
    LimitRequest none = StoreHarness.call("none", rule(9, HOUR));
    assertAllowed(banned);
    List<Optional<String>> before = stored(banned);
    assertLimited(4, banned);
    assertBanned(banned, THIRTY);
    assertAllowed(free);
    List<Optional<String>> others = stored(free);
    lift(banned, free, none);
    assertThat(stored(free)).isEqualTo(others);
    assertThat(stored(none)).containsExactly(Optional.empty());
    assertThat(stored(banned)).isEqualTo(before);
  }

  @Test
  default void aBanOfOtherRulesIsLiftedToo() {
    LimitRequest before = banning(BanRule.of(1, MINUTE, HOUR), FixedWindowRule.of(5, SECOND));
    LimitRequest without = banning(FIVE_IN_TEN, TokenBucketRule.of(5, 1, SECOND));
    assertBanned(before.withCost(6), HOUR);
    LimitRequest unbanning =
        LimitRequest.of(
            Policy.of("policy", TokenBucketRule.of(5, 1, SECOND)), new Subject("user", "x"));
    assertAllowed(unbanning); // the ban stays beside the cells of this stack
    assertBanned(before, HOUR);
    lift(without);
    assertAllowed(before);
  }

  @Test
  default void aBanContinuesWhenItsNumbersAndTheRulesChange() {
    LimitRequest before = banning(BanRule.of(1, MINUTE, HOUR), FixedWindowRule.of(5, SECOND));
    LimitRequest after = banning(BanRule.of(9, SECOND, THIRTY), TokenBucketRule.of(5, 1, SECOND));
    assertBanned(before.withCost(6), HOUR);
    assertBanned(after, THIRTY); // but no ban is longer than the longest, from its beginning
    advance(THIRTY.minus(SECOND));
    assertThat(peek(after).ban()).contains(SECOND);
    assertBanned(after, SECOND);
    advance(SECOND);
    assertAllowed(after);
  }
}
