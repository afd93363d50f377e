// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Collections;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** The extreme valid numbers, and the next ones, which are invalid. */
class RuleBoundsTest {

  private static final Duration YEAR = Duration.ofDays(366);

  private static Duration micros(long number) {
    return Duration.of(number, ChronoUnit.MICROS);
  }

  private static void assertRejected(ThrowingCallable call, String message) {
    assertThatIllegalArgumentException().isThrownBy(call).withMessageContaining(message);
  }

  @Test
  void tokensAreCountedInPartsUpToTheExactRangeOfADouble() {
    long half = 1 << 29; // 2^24 microseconds times 2^29 tokens are 2^53 parts
    Duration interval = micros(1 << 24);
    assertThat(TokenBucketRule.of(half, 999_999_999, interval).count()).isEqualTo(half);
    assertRejected(
        () -> TokenBucketRule.of(half + 1, 999_999_999, interval),
        "cannot be counted exactly up to 536870913");
  }

  @Test
  void aRefillIsAtMostTheCapacity() {
    long most = Rule.MAX_COUNT;
    assertThat(TokenBucketRule.of(most, most, MINUTE).refill()).isEqualTo(most);
    assertRejected(
        () -> TokenBucketRule.of(most, most + 1, MINUTE),
        "has a refill of 1000000001: use 1 to 1000000000");
  }

  @Test
  void theTimeToFillABucketIsRightThoughItsTokensTimesItsIntervalFitInNoLong() {
    TokenBucketRule bucket = TokenBucketRule.of(291_673, 1_000_000, YEAR);
    assertThat(bucket.window()).isEqualTo(micros(291_673L * 31_622_400));
    assertThat(bucket.withCount(291_672).window()).isEqualTo(micros(291_672L * 31_622_400));
  }

  @Test
  void aLeakyBucketIsCountedUpToTheExactRangeOfADouble() {
    Duration window = micros(9_007_199_254_739L); // times 1,000 places, and 1,992: 2^53
    assertThat(LeakyBucketRule.of(1, window, 999, micros(1_991)).queue()).isEqualTo(999);
    assertRejected(
        () -> LeakyBucketRule.of(1, window, 999, micros(1_992)), "which cannot be counted exactly");
  }

  @Test
  void aCallWaitsAMillisecondAtLeast() {
    Duration brief = Duration.ofMillis(1);
    assertThat(LeakyBucketRule.of(1, MINUTE, 1, brief).maxWait()).isEqualTo(brief);
    assertRejected(
        () -> LeakyBucketRule.of(1, MINUTE, 1, micros(999)), "makes calls wait up to PT0.000999S");
  }

  @Test
  void aLeakyBucketWithAnotherCountIsTheSameButForThat() {
    LeakyBucketRule bucket = LeakyBucketRule.of(2, MINUTE, 10, MINUTE).withFair(false);
    assertThat(bucket.withCount(3))
        .isEqualTo(new LeakyBucketRule(bucket.name(), 3, MINUTE, 10, MINUTE, false));
  }

  @Test
  void anOwnAlgorithmHasEightParametersAndEightNumbersAtMost() {
    Double[] eight = Collections.nCopies(8, 2.0).toArray(new Double[0]);
    Double[] nine = Collections.nCopies(9, 2.0).toArray(new Double[0]);
    assertThat(CustomRule.of(new Remembering(8), 1, MINUTE, eight).parameters()).hasSize(8);
    assertRejected(
        () -> CustomRule.of(new Remembering(8), 1, MINUTE, nine), "at most 8 finite numbers");
    assertRejected(() -> CustomRule.of(new Remembering(0), 1, MINUTE), "remembers 0 numbers");
  }

  @Test
  void aRuleOfAnOwnAlgorithmHasTheBoundsOfAnyRule() {
    assertRejected(
        () -> CustomRule.of(new Remembering(1), 0, MINUTE),
        "The rule '0-per-60s' has count 0: use 1 to 1000000000");
    assertRejected(
        () -> new CustomRule("own", 1, MINUTE, new Remembering(1), List.of(), YEAR.plusMillis(1)),
        "The rule 'own' remembers a subject for PT8784H0.001S: use 1 ms to 366 days");
  }

  private record Remembering(int stateSize) implements CustomAlgorithm {
    @Override
    public String name() {
      return "remembering";
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
      throw new UnsupportedOperationException();
    }

    @Override
    public String script() {
      return "";
    }
  }

  @Test
  void aBanComesAfterAMillionViolationsAtMostAndGrowsAHundredfold() {
    BanRule ban = BanRule.of(1_000_000, MINUTE, MINUTE).growing(100, YEAR);
    assertThat(ban.violations()).isEqualTo(1_000_000);
    assertThat(ban.growth()).isEqualTo(100);
    assertRejected(() -> BanRule.of(1_000_001, MINUTE, MINUTE), "A ban after 1000001 violations");
    assertRejected(() -> ban.growing(0, YEAR), "A ban grows by 0: use 1 to 100");
    assertRejected(
        () -> ban.growing(2, YEAR.plusMillis(1)),
        "A ban lasts at most PT8784H0.001S: use 1 ms to 366 days");
  }

  @Test
  void aCallCostsAMillionAtMostAlsoInTheEnd() {
    Charge charge = StoreHarness.call(rule(1_000_000, MINUTE)).withCost(1_000_000).charge(0);
    assertThat(charge.cost()).isEqualTo(1_000_000);
    assertThat(Completion.succeeded().withCost(1_000_000).returned(charge)).isZero();
    assertThat(Completion.succeeded().withCost(999_999).returned(charge)).isEqualTo(1);
  }
}
