// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static java.time.temporal.ChronoUnit.MICROS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What a verdict promises to the calls that follow: as many pass at once as units remain, and after
 * its effective window another call of the same cost passes, or one more than remained.
 */
public interface RemainingContract extends StoreHarness {

  int ROUNDS = 25;

  /** One of each algorithm, and leaky buckets whose calls may not wait for the whole queue. */
  static Stream<Rule> countedRules() {
    List<Rule> rules = new ArrayList<>();
    for (long millis : new long[] {1, 499, 500, 700, 1_000, 1_600}) {
      LeakyBucketRule hasty = LeakyBucketRule.of(2, SECOND, 4, Duration.ofMillis(millis));
      rules.add(hasty);
      rules.add(hasty.withFair(false));
    }
    rules.add(LeakyBucketRule.of(7, Duration.ofMillis(10), 9, Duration.ofMillis(8)));
    rules.add(
        LeakyBucketRule.of(7, Duration.ofMillis(10), 9, Duration.ofMillis(8)).withFair(false));
    rules.add(SlidingWindowCounterRule.of(9, Duration.ofMillis(700)));
    rules.add(rule(9, Duration.ofMillis(700)));
    return Stream.concat(rules.stream(), RetryAfterContract.polledRules());
  }

  static Stream<Rule> limitedRules() {
    return Stream.concat(countedRules(), Stream.of(ConcurrencyLimitRule.of(3)));
  }

  @ParameterizedTest
  @MethodSource("limitedRules")
  default void asManyCallsPassAtOnceAsUnitsRemain(Rule rule) {
    Random random = new Random(rule.hashCode());
    for (int round = 0; round < ROUNDS; round++) {
      LimitRequest call =
          round % 3 == 0 && !(rule instanceof ConcurrencyLimitRule)
              ? call("stack-" + round, rule, rule(3, Duration.ofMillis(333)))
              : call("rule-" + round, rule);
      use(call, rule, random);
      long remain = least(peek(call));
      for (long left = remain; left > 0; left--) {
        assertThat(least(acquire(call)))
            .as("%s of %s of %s", left, remain, rule)
            .isEqualTo(left - 1);
      }
      assertThat(acquire(call).allowed()).as("one more than %s of %s", remain, rule).isFalse();
    }
  }

  @ParameterizedTest
  @MethodSource("countedRules")
  default void theSameCallPassesAgainAfterTheEffectiveWindow(Rule rule) {
    Random random = new Random(rule.hashCode());
    int again = 0;
    for (int round = 0; round < ROUNDS; round++) {
      LimitRequest call = call("round-" + round, rule);
      use(call, rule, random);
      int most = (int) rule.capacity();
      int cost = round % 2 == 0 ? most : 1 + random.nextInt(most);
      if (cost == most) {
        advance(SECOND.multipliedBy(3));
      }
      LimitRequest same = call.withCost(cost);
      RuleVerdict verdict = acquire(same).rules().get(0);
      if (verdict.violated()) {
        continue;
      }
      again += verdict.remaining() < cost ? 1 : 0;
      long wanted = Math.max(cost, verdict.remaining() + 1);
      advance(verdict.effectiveWindow().minus(TICK));
      assertThat(remaining(same)).as("before %s of %s", cost, rule).isLessThan(wanted);
      advance(TICK);
      assertThat(remaining(same)).as("%s of %s", cost, rule).isGreaterThanOrEqualTo(wanted);
    }
    assertThat(again).as("calls of %s that had to come back later", rule).isPositive();
  }

  /** Calls of any cost at any time, some of which are given back. */
  private void use(LimitRequest call, Rule rule, Random random) {
    for (int i = random.nextInt(12); i > 0; i--) {
      int cost = random.nextBoolean() ? 1 : 1 + random.nextInt((int) rule.capacity());
      Verdict verdict = acquire(call.withCost(cost));
      if (random.nextInt(3) == 0) {
        advance(Duration.of(random.nextInt(400_000), MICROS));
      }
      if (random.nextInt(4) == 0) {
        refund(verdict);
      }
    }
  }

  private static long least(Verdict verdict) {
    return verdict.rules().stream().mapToLong(RuleVerdict::remaining).min().orElseThrow();
  }
}
