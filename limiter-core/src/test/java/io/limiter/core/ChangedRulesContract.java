// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The rules of a limit key change while it is in use, as in a rolling deployment: instances with
 * the old and with the new rules count one subject in turn. They never admit more than both would
 * alone, and no ban is lost.
 */
public interface ChangedRulesContract extends StoreHarness {

  Duration TENTH = Duration.ofMillis(100);

  /** For each algorithm a rule, and the same with other numbers. */
  private static List<List<Rule>> algorithms() {
    ZoneId utc = ZoneId.of("UTC");
    FadingCounter own = new FadingCounter();
    return List.of(
        List.of(
            rule(10, MINUTE), rule(20, MINUTE), rule(5, MINUTE), rule(10, MINUTE.multipliedBy(2))),
        List.of(
            FixedWindowRule.of(10, MINUTE), FixedWindowRule.of(20, MINUTE),
            FixedWindowRule.of(10, MINUTE.multipliedBy(2)),
                FixedWindowRule.of(10, SECOND.multipliedBy(30))),
        List.of(
            FixedWindowRule.aligned(10, HOUR, utc),
            FixedWindowRule.aligned(10, HOUR, ZoneId.of("Asia/Kolkata")),
            FixedWindowRule.aligned(10, HOUR.multipliedBy(24), ZoneId.of("Europe/Berlin"))),
        List.of(
            SlidingWindowCounterRule.of(10, MINUTE),
            SlidingWindowCounterRule.of(20, MINUTE),
            SlidingWindowCounterRule.of(10, MINUTE.multipliedBy(2)),
            SlidingWindowCounterRule.of(10, SECOND.multipliedBy(30))),
        List.of(
            TokenBucketRule.of(10, 10, MINUTE), TokenBucketRule.of(20, 10, MINUTE),
            TokenBucketRule.of(10, 20, MINUTE), TokenBucketRule.of(10, 10, SECOND.multipliedBy(7))),
        List.of(
            TokenBucketRule.of(10, 10, MINUTE).byInterval(),
            TokenBucketRule.of(10, 5, SECOND.multipliedBy(20)).byInterval(),
            TokenBucketRule.of(20, 10, MINUTE).byInterval()),
        List.of(
            LeakyBucketRule.of(10, MINUTE, 5, MINUTE),
            LeakyBucketRule.of(20, MINUTE, 5, MINUTE),
            LeakyBucketRule.of(10, MINUTE, 15, MINUTE.multipliedBy(3))),
        List.of(CustomRule.of(own, 10, MINUTE, 2.0), CustomRule.of(own, 10, MINUTE, 3.0)));
  }

  static Stream<Arguments> changes() {
    List<Arguments> changes = new ArrayList<>();
    for (List<Rule> one : algorithms()) {
      for (Rule other : one.subList(1, one.size())) {
        changes.add(Arguments.of(one.get(0), other));
        changes.add(Arguments.of(other, one.get(0)));
      }
      for (List<Rule> others : algorithms()) {
        if (others != one) {
          changes.add(Arguments.of(one.get(0), others.get(0)));
        }
      }
    }
    return changes.stream();
  }

  private static LimitRequest under(Rule rule, String who, int ban) {
    Policy policy = Policy.of("policy", rule);
    return LimitRequest.of(
        ban == 0 ? policy : policy.withBan(BanRule.of(40, MINUTE, SECOND.multipliedBy(ban))),
        new Subject("user", who));
  }

  /** For a minute and a half, a call every third of a second, under one or the other. */
  @Tag("matrix")
  @ParameterizedTest
  @MethodSource("changes")
  default void inTurnTheyNeverAdmitMoreThanBothBounds(Rule before, Rule after) {
    at("2024-05-01T11:59:30Z");
    Random random = new Random(1);
    Rule[] rules = {before, after};
    int[] inTurn = new int[2];
    int[] atRandom = new int[2];
    int[] alone = new int[2];
    for (int i = 0; i < 270; i++) {
      int which = i % 2;
      inTurn[which] += admits(under(rules[which], "in turn", 0));
      which = random.nextInt(2);
      atRandom[which] += admits(under(rules[which], "at random", 7 * which));
      for (int one = 0; one < 2; one++) {
        alone[one] += admits(under(rules[one], "alone " + one, 0));
      }
      advance(SECOND.dividedBy(3).truncatedTo(ChronoUnit.MICROS));
    }
    for (int[] both : List.of(inTurn, atRandom)) {
      assertThat(both[0] + both[1])
          .as("%d and %d, alone %d and %d", both[0], both[1], alone[0], alone[1])
          .isPositive()
          .isLessThanOrEqualTo(alone[0] + alone[1]);
    }
  }

  private int admits(LimitRequest call) {
    return acquire(call).allowed() ? 1 : 0;
  }

  @ParameterizedTest
  @MethodSource("changes")
  default void noBanIsLost(Rule before, Rule after) {
    BanRule hour = BanRule.of(1, MINUTE, HOUR);
    LimitRequest banning =
        LimitRequest.of(Policy.of("policy", before).withBan(hour), new Subject("user", "x"));
    LimitRequest harmless = LimitRequest.of(Policy.of("policy", after), new Subject("user", "x"));
    assertThat(acquire(banning.withCost(100)).outcome()).isEqualTo(Outcome.BANNED);
    for (int i = 0; i < 5; i++) {
      advance(SECOND);
      var unused = acquire(harmless);
    }
    assertThat(acquire(banning).ban()).contains(HOUR.minus(SECOND.multipliedBy(5)));
    LimitRequest other =
        LimitRequest.of(Policy.of("policy", after).withBan(hour), new Subject("user", "x"));
    if (before.waits() == after.waits()) { // waiting calls have a key of their own
      assertThat(acquire(other).ban()).contains(HOUR.minus(SECOND.multipliedBy(5)));
    }
    advance(HOUR.minus(SECOND.multipliedBy(5)).minus(TICK));
    assertThat(acquire(banning).ban()).contains(TICK);
    advance(TICK);
    assertThat(acquire(banning).allowed()).isTrue();
  }

  /** Whenever the new rules deny, the call passes at its retry-after. */
  @ParameterizedTest
  @MethodSource("changes")
  default void retryAfterIsExactAfterAChange(Rule before, Rule after) {
    at("2024-05-01T11:59:30Z");
    LimitRequest call = under(after, "user", 0);
    for (int i = 0; i < 60; i++) {
      var unused = acquire(under(before, "user", 0));
      if (i % 3 == 0) {
        var unusedToo = acquire(call);
      }
    }
    for (int denials = 0; denials < 5; ) {
      Verdict verdict = acquire(call);
      if (!verdict.allowed()) {
        Duration wait = verdict.retryAfter().orElseThrow();
        if (verdict.decidedBy() == DecidedBy.DENY_CACHE) { // cached before others took more
          advance(wait);
          continue;
        }
        denials++;
        advance(wait.minus(TICK));
        assertThat(acquire(call).retryAfter()).contains(TICK);
        advance(TICK);
        assertAllowed(call);
      }
    }
  }

  static Stream<Arguments> counts() {
    LeakyBucketRule queue = LeakyBucketRule.of(10, MINUTE, 9, MINUTE.multipliedBy(5));
    return Stream.of(
        Arguments.of(rule(10, MINUTE), rule(20, MINUTE), 14),
        Arguments.of(rule(10, MINUTE), rule(5, MINUTE), 0),
        Arguments.of(FixedWindowRule.of(10, MINUTE), FixedWindowRule.of(20, MINUTE), 14),
        Arguments.of(FixedWindowRule.of(10, MINUTE), FixedWindowRule.of(5, MINUTE), 0),
        Arguments.of(
            FixedWindowRule.aligned(10, HOUR, ZoneId.of("UTC")),
            FixedWindowRule.aligned(20, HOUR, ZoneId.of("UTC")),
            14),
        Arguments.of(
            SlidingWindowCounterRule.of(10, MINUTE), SlidingWindowCounterRule.of(9, MINUTE), 3),
        Arguments.of(TokenBucketRule.of(10, 10, HOUR), TokenBucketRule.of(10, 20, HOUR), 4),
        Arguments.of(TokenBucketRule.of(10, 10, HOUR), TokenBucketRule.of(20, 7, HOUR), 14),
        Arguments.of(
            TokenBucketRule.of(10, 10, HOUR).byInterval(),
            TokenBucketRule.of(20, 7, HOUR).byInterval(),
            14),
        Arguments.of(queue, queue.withQueue(4), 0),
        Arguments.of(
            CustomRule.of(new FadingCounter(), 10, MINUTE, 2.0),
            CustomRule.of(new FadingCounter(), 12, MINUTE, 2.0),
            6));
  }

  /** A rule with another count or refill continues from what was counted. */
  @ParameterizedTest
  @MethodSource("counts")
  default void aRuleWithAnotherCountContinuesFromWhatWasCounted(Rule before, Rule after, int left) {
    at("2024-05-01T12:00:00Z");
    acquire(6, under(before, "user", 0));
    assertThat(remaining(under(after, "user", 0))).isEqualTo(left);
    if (left > 0) {
      acquire(left, under(after, "user", 0));
    }
    assertLimited(under(after, "user", 0));
  }

  /**
   * The departures that were handed out stay where they are, one interval of the old rate apart.
   */
  @Test
  default void aQueueOfAnotherRateDepartsBehindTheOldOne() {
    LimitRequest slow = under(LeakyBucketRule.of(6, MINUTE, 20, MINUTE), "user", 0);
    LimitRequest fast = under(LeakyBucketRule.of(7, MINUTE, 20, MINUTE), "user", 0);
    acquire(3, slow);
    assertThat(acquire(fast).delay()).isEqualTo(SECOND.multipliedBy(30));
    Duration interval = Duration.ofNanos(8_571_429_000L); // a minute by seven, rounded up
    assertThat(acquire(slow).delay())
        .isBetween(
            SECOND.multipliedBy(30).plus(interval).minus(TICK),
            SECOND.multipliedBy(30).plus(interval).plus(TICK));
  }

  /** Rounded against the caller, by a microsecond at most. */
  @Test
  default void tokensOfAnotherRefillAreConvertedExactlyEnough() {
    TokenBucketRule seven = TokenBucketRule.of(10, 7, MINUTE);
    TokenBucketRule eleven = TokenBucketRule.of(10, 11, MINUTE);
    acquire(10, under(seven, "user", 0));
    advance(SECOND); // by the refill of the rule that reads
    Duration wait = acquire(under(eleven, "user", 0)).retryAfter().orElseThrow();
    long exact = (long) Math.ceil((1 - 11 / 60.0) * 60_000_000 / 11);
    assertThat(wait.toNanos() / 1_000).isBetween(exact, exact + 1);
    advance(wait.minus(TICK));
    assertLimited(under(eleven, "user", 0));
    advance(TICK);
    assertAllowed(under(eleven, "user", 0));
  }

  /** Another window, algorithm, zone or rule is another shape, and so another state. */
  @Test
  default void otherRulesCountFromZeroAndLeaveTheOldStateAlone() {
    at("2024-05-01T12:00:00Z");
    Rule base = rule(10, MINUTE);
    List<List<Rule>> shapes =
        List.of(
            List.of(base),
            List.of(rule(10, MINUTE.multipliedBy(2))),
            List.of(base, rule(10, HOUR)),
            List.of(FixedWindowRule.of(10, MINUTE)),
            List.of(FixedWindowRule.aligned(10, MINUTE, ZoneId.of("UTC"))),
            List.of(FixedWindowRule.aligned(10, MINUTE, ZoneId.of("Europe/Berlin"))),
            List.of(FixedWindowRule.aligned(10, CalendarPeriod.MONTH, ZoneId.of("UTC"))),
            List.of(FixedWindowRule.aligned(10, CalendarPeriod.MONTH, ZoneId.of("Asia/Tokyo"))),
            List.of(FixedWindowRule.aligned(10, CalendarPeriod.DAY, ZoneId.of("UTC"))),
            List.of(SlidingWindowCounterRule.of(10, MINUTE)),
            List.of(TokenBucketRule.of(10, 10, MINUTE)),
            List.of(TokenBucketRule.of(10, 10, MINUTE).byInterval()),
            List.of(TokenBucketRule.of(10, 10, HOUR)),
            List.of(CustomRule.of(new FadingCounter(), 10, MINUTE, 2.0)),
            List.of(CustomRule.of(new FadingCounter(), 10, MINUTE, 3.0)));
    for (int i = 0; i < shapes.size(); i++) {
      LimitRequest call = StoreHarness.call(shapes.get(i).toArray(Rule[]::new));
      assertThat(remaining(call)).as("%s", shapes.get(i)).isEqualTo(10);
      acquire(1 + i % 3, call);
    }
    for (int i = 0; i < shapes.size(); i++) {
      LimitRequest call = StoreHarness.call(shapes.get(i).toArray(Rule[]::new));
      assertThat(remaining(call)).as("%s", shapes.get(i)).isEqualTo(9 - i % 3);
    }
  }

  /** A refund goes to the state from which the units came. */
  @ParameterizedTest
  @MethodSource("changes")
  default void unitsAreGivenBackToTheRulesThatTookThem(Rule before, Rule after) {
    LimitRequest call = under(before, "user", 0);
    acquire(1, call);
    Verdict verdict = acquire(call);
    advance(TICK);
    var unused = acquire(under(after, "user", 0));
    long left = remaining(call);
    boolean converted =
        before instanceof LeakyBucketRule
            && after instanceof LeakyBucketRule
            && before.count() != after.count()
            && before.window().equals(after.window());
    boolean never = before instanceof CustomRule; // by the algorithm itself
    if (converted) { // where an interval of the other rate ends there, it is given back
      return;
    }
    assertThat(refund(verdict)).as("%s, %s", before, after).isEqualTo(never ? 0 : 1);
    advance(TICK.multipliedBy(2)); // the debt under another refill is rounded up
    assertThat(remaining(call)).as("%s, %s", before, after).isEqualTo(never ? left : left + 1);
  }

  /** Two capacities with one refill: the smaller bucket leaves the larger one its debt. */
  @Test
  default void aSmallerBucketDoesNotPayTheDebtOfALargerOne() {
    for (boolean greedy : new boolean[] {true, false}) {
      LimitRequest small = call("user " + greedy, bucket(10, greedy));
      LimitRequest large = call("user " + greedy, bucket(100, greedy));
      int admitted = 0;
      for (int i = 0; i < 600; i++) {
        admitted += admits(large) + admits(small);
        advance(TENTH);
      }
      assertThat(admitted).as("in a minute, greedy %s", greedy).isBetween(150, 10 + 60 + 100 + 60);
    }
  }

  private static Rule bucket(long count, boolean greedy) {
    TokenBucketRule bucket = TokenBucketRule.of(count, 1, SECOND);
    return greedy ? bucket : bucket.byInterval();
  }

  @Test
  default void aBanThatIsShortenedEndsWhenItWouldHave() {
    Policy policy = Policy.of("policy", FixedWindowRule.of(1, SECOND));
    Subject user = new Subject("user", "x");
    LimitRequest hour = LimitRequest.of(policy.withBan(BanRule.of(1, MINUTE, HOUR)), user);
    LimitRequest seconds =
        LimitRequest.of(policy.withBan(BanRule.of(1, MINUTE, SECOND.multipliedBy(2))), user);
    assertThat(acquire(hour.withCost(2)).ban()).contains(HOUR);
    advance(SECOND);
    assertThat(peek(seconds).retryAfter()).contains(SECOND);
    assertThat(acquire(seconds).retryAfter()).contains(SECOND);
    advance(SECOND.minus(TICK));
    assertThat(acquire(seconds).retryAfter()).contains(TICK);
    advance(TICK);
    assertAllowed(seconds);
    assertThat(acquire(hour).ban()).contains(HOUR.minus(SECOND.multipliedBy(2)));
  }

  /** Cells that were started since by other units are not changed by refunds of earlier ones. */
  @ParameterizedTest
  @MethodSource("changes")
  default void afterAResetNothingOfOthersIsGivenBack(Rule rule, Rule unused) {
    LimitRequest call = under(rule, "user", 0);
    Verdict old = acquire(call);
    assertThat(store().reset(List.of(call.charge(0).key())))
        .succeedsWithin(SECOND.multipliedBy(10));
    advance(TICK);
    acquire(2, call);
    long left = remaining(call);
    assertThat(refund(old)).isZero();
    assertThat(remaining(call)).isEqualTo(left);
  }

  private static LimitRequest call(Subject user, Rule rule) {
    return LimitRequest.of(Policy.of("policy", rule), user);
  }

  private static LimitRequest call(String who, Rule rule) {
    return call(new Subject("user", who), rule);
  }
}
