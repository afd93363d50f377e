// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.RecordsTest;
import io.limiter.core.Subject;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Invalid algorithms and bans, as {@link RecordsTest}. */
class AlgorithmRecordsTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);

  private static void assertRejected(ThrowingCallable call, String message) {
    assertThatIllegalArgumentException().isThrownBy(call).withMessage(message);
  }

  @Test
  void rulesOfAllAlgorithmsAreNamedAfterTheirNumbers() {
    ZoneId utc = ZoneId.of("UTC");
    assertThat(SlidingWindowCounterRule.of(10, MINUTE).name()).isEqualTo("10-per-60s");
    assertThat(FixedWindowRule.of(10, MINUTE).name()).isEqualTo("10-per-60s");
    assertThat(FixedWindowRule.aligned(10, MINUTE, utc).name()).isEqualTo("10-per-60s");
    assertThat(TokenBucketRule.of(20, 5, MINUTE).name()).isEqualTo("20-at-5-per-60s");
    assertThat(CustomRule.of(new FadingCounter(), 10, MINUTE, 2.0).name()).isEqualTo("10-per-60s");
  }

  @Test
  void aRuleThatKeepsNumbersMayHaveALargeCount() {
    long most = Rule.MAX_COUNT;
    assertThat(SlidingWindowCounterRule.of(most, MINUTE).count()).isEqualTo(most);
    assertRejected(
        () -> SlidingWindowCounterRule.of(most + 1, MINUTE),
        "The rule '1000000001-per-60s' has count 1000000001: use 1 to 1000000000");
    assertRejected(
        () -> FixedWindowRule.of(-1, MINUTE),
        "The rule '-1-per-60s' has count -1: use 0 to 1000000000");
  }

  @Test
  void anAlignedWindowDividesADayOrHasAnAnchor() {
    ZoneId zone = ZoneId.of("Europe/Berlin");
    LocalDateTime monday = LocalDateTime.of(2024, 1, 1, 0, 0);
    FixedWindowRule week = FixedWindowRule.of(1, Duration.ofDays(7));
    assertThat(week.alignedTo(Alignment.to(zone).from(monday)).window()).hasDays(7);
    assertRejected(
        () -> week.alignedTo(Alignment.to(zone)),
        "The rule '1-per-604800s' has an aligned window of PT168H, which does not divide a day: use one that does, or set an anchor");
    assertRejected(
        () -> FixedWindowRule.aligned(1, Duration.ofMinutes(7), zone),
        "The rule '1-per-420s' has an aligned window of PT7M, which does not divide a day: use one that does, or set an anchor");
    assertRejected(
        () -> FixedWindowRule.of(1, Duration.ofDays(8)).alignedTo(Alignment.to(zone).from(monday)),
        "The rule '1-per-691200s' has an aligned window of PT192H: use 7 days at most");
    assertRejected(
        () -> week.alignedTo(Alignment.to(zone).from(monday.plusNanos(1))),
        "The rule '1-per-604800s' has the anchor 2024-01-01T00:00:00.000000001: use whole microseconds");
  }

  @Test
  void aBucketIsRefilledAndFilledInTime() {
    assertThat(TokenBucketRule.of(10, 3, MINUTE).window()).isEqualTo(Duration.ofSeconds(200));
    assertThat(TokenBucketRule.of(10, 3, MINUTE).byInterval().window())
        .isEqualTo(MINUTE.multipliedBy(4));
    assertRejected(
        () -> TokenBucketRule.of(10, 0, MINUTE),
        "The rule '10-at-0-per-60s' has a refill of 0: use 1 to 1000000000");
    assertRejected(
        () -> TokenBucketRule.of(10, 1, MINUTE).startingWith(11),
        "The rule '10-at-1-per-60s' has 11 initial tokens: use 0 to 10, its capacity");
    assertRejected(
        () -> TokenBucketRule.of(10, 1, MINUTE).startingWith(-1),
        "The rule '10-at-1-per-60s' has -1 initial tokens: use 0 to 10, its capacity");
    assertRejected(
        () -> TokenBucketRule.of(1_000, 1, Duration.ofDays(1)),
        "The rule '1000-at-1-per-86400s' fills its bucket in PT24000H: use 1 ms to 366 days");
  }

  @Test
  void aBucketThatCannotBeCountedExactlyIsRejected() {
    Duration odd = Duration.ofDays(300).plusNanos(1_000);
    assertRejected(
        () -> TokenBucketRule.of(1_000_000, 999_983, odd),
        "The rule '1000000-at-999983-per-25920000000001us' refills 999983 in PT7200H0.000001S, which cannot be counted exactly up to 1000000: use rounder numbers, or a shorter interval");
    assertThat(TokenBucketRule.of(1_000_000, 1_000_000, Duration.ofDays(300)).count())
        .isEqualTo(1_000_000);
  }

  @Test
  void anotherCapacityHasRoomForTheInitialTokens() {
    TokenBucketRule full = TokenBucketRule.of(10, 1, MINUTE);
    assertThat(full.withCount(20).initial()).isEqualTo(20);
    assertThat(full.startingWith(4).withCount(20).initial()).isEqualTo(4);
    assertThat(full.startingWith(4).withCount(3).initial()).isEqualTo(3);
  }

  @Test
  void aLeakyBucketHasABoundedQueueAndABoundedWait() {
    LeakyBucketRule bucket =
        LeakyBucketRule.of(2, Duration.ofSeconds(1), 10, Duration.ofSeconds(10));
    assertThat(bucket.name()).isEqualTo("2-per-1s-queue-10");
    assertThat(bucket.fair()).isTrue();
    assertThat(bucket.withFair(false).fair()).isFalse();
    assertThat(bucket.capacity()).isEqualTo(11);
    assertRejected(
        () -> bucket.withQueue(0),
        "The rule '2-per-1s-queue-10' has a queue of 0: use 1 to 10000; if calls must not wait, use a token bucket of 1");
    assertRejected(
        () -> bucket.withQueue(10_001),
        "The rule '2-per-1s-queue-10' has a queue of 10001: use 1 to 10000; if calls must not wait, use a token bucket of 1");
    assertRejected(
        () -> LeakyBucketRule.of(2, MINUTE, 10, Duration.ZERO),
        "The rule '2-per-60s-queue-10' makes calls wait up to PT0S: use 1 ms to 5 minutes, in whole microseconds");
    assertRejected(
        () -> LeakyBucketRule.of(2, MINUTE, 10, MINUTE.multipliedBy(5).plusNanos(1_000)),
        "The rule '2-per-60s-queue-10' makes calls wait up to PT5M0.000001S: use 1 ms to 5 minutes, in whole microseconds");
    assertRejected(
        () -> LeakyBucketRule.of(2, MINUTE, 10, MINUTE.plusNanos(1)),
        "The rule '2-per-60s-queue-10' makes calls wait up to PT1M0.000000001S: use 1 ms to 5 minutes, in whole microseconds");
  }

  @Test
  void aLeakyBucketThatCannotBeCountedExactlyIsRejected() {
    assertRejected(
        () -> LeakyBucketRule.of(7_919, Duration.ofDays(366), 10_000, MINUTE),
        "The rule '7919-per-31622400s-queue-10000' spaces 7919 in PT8784H, which cannot be counted exactly for waits up to PT1M: use rounder numbers, a shorter queue, or a shorter wait");
    assertThat(LeakyBucketRule.of(7_200, Duration.ofDays(366), 10_000, MINUTE).count())
        .isEqualTo(7_200);
  }

  @Test
  void aWaitIsOfABoundedNumberOfDepartures() {
    Duration second = Duration.ofSeconds(1);
    assertThat(LeakyBucketRule.of(2_000, second, 10, MINUTE).maxWait()).isEqualTo(MINUTE);
    assertRejected(
        () -> LeakyBucketRule.of(2_001, second, 10, MINUTE),
        "The rule '2001-per-1s-queue-10' makes calls wait up to PT1M, which is 120060 departures: shorten the wait to 120000 departures at most");
  }

  @Test
  void oneCallWaitsForOneTurn() {
    LeakyBucketRule slow = LeakyBucketRule.of(1, MINUTE, 1, MINUTE).withName("slow");
    LeakyBucketRule fast = LeakyBucketRule.of(9, MINUTE, 1, MINUTE).withName("fast");
    String message =
        "The rules 'slow', 'fast' all make one call wait: keep one of them, and let the others deny";
    assertRejected(() -> RuleStack.of(List.of(slow, rule(1, MINUTE), fast)), message);
    LimitRequest one = LimitRequest.of(Policy.of("one", slow), new Subject("user", "ada"));
    LimitRequest other = LimitRequest.of(Policy.of("other", fast), new Subject("ip", "::1"));
    assertRejected(() -> one.and(other), message);
    assertRejected(
        () -> Policy.of("one", rule(1, MINUTE)).withDuplicates(slow),
        "The duplicate guard of the policy 'one' has the rule 'slow', which makes calls wait: use a sliding window log");
  }

  @Test
  void anOwnAlgorithmHasANameAndAFewNumbers() {
    assertRejected(
        () -> CustomRule.of(algorithm("Fading", 1), 1, MINUTE),
        "The algorithm name 'Fading' is invalid: use 1 to 32 lower-case letters, digits and hyphens");
    assertRejected(
        () -> CustomRule.of(algorithm("a", 9), 1, MINUTE),
        "The algorithm 'a' remembers 9 numbers: use 1 to 8");
    assertRejected(
        () -> CustomRule.of(algorithm("a", 1), 1, MINUTE, Double.NaN),
        "The rule '1-per-60s' has the parameters [NaN]: use at most 8 finite numbers");
    assertThat(CustomRule.of(algorithm("a", 1), 1, Duration.ofDays(300)).memory()).hasDays(366);
  }

  private static CustomAlgorithm algorithm(String name, int size) {
    return new CustomAlgorithm() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public int stateSize() {
        return size;
      }

      @Override
      public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
        throw new UnsupportedOperationException();
      }

      @Override
      public String script() {
        return "";
      }
    };
  }

  @Test
  void anImpossibleBanIsRejected() {
    Duration second = Duration.ofSeconds(1);
    assertRejected(
        () -> BanRule.of(0, MINUTE, MINUTE), "A ban after 0 violations: use 1 to 1000000");
    assertRejected(
        () -> BanRule.of(1, Duration.ZERO, MINUTE),
        "A ban counts violations within PT0S: use 1 ms to 366 days");
    assertRejected(
        () -> BanRule.of(1, MINUTE, Duration.ofNanos(1)),
        "A ban lasts PT0.000000001S: use 1 ms to 366 days");
    assertRejected(
        () -> BanRule.of(1, MINUTE, MINUTE).growing(101, MINUTE),
        "A ban grows by 101: use 1 to 100");
    assertRejected(
        () -> BanRule.of(1, MINUTE, MINUTE).growing(2, second),
        "The longest ban, PT1S, is shorter than the first, PT1M: make it as long or longer");
    assertThat(BanRule.of(1, MINUTE, second).longest()).isEqualTo(second);
  }

  @Test
  void onlyRulesCanBeViolatedSoOftenThatSomebodyIsBanned() {
    Policy guardOnly =
        new Policy(
            "policy", "limit", List.of(), Optional.of(RuleStack.of(List.of(rule(1, MINUTE)))));
    assertThatThrownBy(() -> guardOnly.withBan(BanRule.of(1, MINUTE, MINUTE)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage(
            "The policy 'policy' has no rules that could be violated: add rules, or remove the ban");
  }

  @Test
  void aStackWithABanIsAnotherStack() {
    RuleStack stack = RuleStack.of(List.of(rule(1, MINUTE)));
    BanRule ban = BanRule.of(5, MINUTE, MINUTE);
    assertThat(stack.withBan(ban))
        .isNotEqualTo(stack)
        .isEqualTo(stack.withBan(ban))
        .isNotEqualTo(stack.withBan(ban.growing(2, MINUTE)));
  }
}
