// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Differential;
import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Scenario;
import io.limiter.core.StateKey;
import io.limiter.core.Step;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * While a service is deployed, instances of this release and of the previous one count the same
 * subjects in one Redis. Each reads what the other wrote, and counts it.
 */
@Tag("matrix")
class RollingDeployTest {

  private final TestRedis redis = new TestRedis();
  private final RedisStore now = redis.store();
  private final PreviousStore before = new PreviousStore(redis, now);
  private long clock = 1_700_000_000_000_000L;

  RollingDeployTest() {
    redis.setClock(clock);
  }

  @AfterEach
  void close() {
    now.close();
    redis.close();
  }

  /** Asks the two instances in turn. */
  static final class InTurn implements LimitStore {

    private final LimitStore one;
    private final LimitStore other;
    private int calls;

    InTurn(LimitStore one, LimitStore other) {
      this.one = one;
      this.other = other;
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return (calls++ % 2 == 0 ? one : other).decide(request, mode);
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return one.reset(keys);
    }

    @Override
    public void close() {}
  }

  /** Without a leaky bucket: that of the former release is another cell, which counts alone. */
  static Stream<List<Rule>> stacks() {
    CustomRule own = CustomRule.of(new FadingCounter(), 4, MINUTE, 2.0);
    return Stream.of(
        List.of(rule(4, MINUTE)),
        List.of(rule(4, MINUTE), rule(300, HOUR)),
        List.of(FixedWindowRule.of(4, MINUTE)),
        List.of(SlidingWindowCounter.of(4, MINUTE)),
        List.of(TokenBucketRule.of(4, 1, MINUTE)),
        List.of(own),
        List.of(rule(4, MINUTE), FixedWindowRule.of(300, HOUR)),
        List.of(rule(300, HOUR), TokenBucketRule.of(4, 1, MINUTE), own.withName("own")));
  }

  private static Verdict acquire(LimitStore store, LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  /** The previous release lets keys live for a shorter time. */
  @ParameterizedTest
  @MethodSource("stacks")
  void aTimeToLiveThatThePreviousReleaseSetIsNotKept(List<Rule> rules) {
    LimitRequest call = call("ada", rules.toArray(Rule[]::new));
    byte[] name = redis.name(call.charge(0).key());
    for (int i = 0; i < 2; i++) {
      assertThat(acquire(before, call).allowed()).isTrue();
      redis.commands().pexpire(name, 10_000);
      assertThat(acquire(now, call).allowed()).isTrue();
      assertThat(redis.commands().pttl(name)).isGreaterThan(10_000);
    }
  }

  @ParameterizedTest
  @MethodSource("stacks")
  void eachCountsWhatTheOtherTook(List<Rule> rules) {
    for (List<LimitStore> order : List.of(List.of(before, now), List.of(now, before))) {
      LimitRequest call = call("user-" + order.indexOf(now), rules.toArray(Rule[]::new));
      for (int i = 0; i < 4; i++) {
        Verdict verdict = acquire(order.get(i % 2), call);
        assertThat(verdict.allowed()).as("call %d", i + 1).isTrue();
        long least = verdict.rules().stream().mapToLong(it -> it.remaining()).min().orElseThrow();
        assertThat(least).isEqualTo(3 - i);
      }
      assertThat(acquire(before, call).outcome()).isEqualTo(Outcome.LIMITED);
      assertThat(acquire(now, call))
          .usingRecursiveComparison()
          .ignoringFields("reservation")
          .isEqualTo(acquire(before, call));
    }
  }

  /** A log that is longer than a page is written in place. */
  @Test
  void eachCountsWhatTheOtherTookInALongLog() {
    LimitRequest call = call(rule(500, HOUR), rule(600, HOUR.multipliedBy(2)));
    InTurn both = new InTurn(before, now);
    for (int i = 0; i < 500; i++) {
      clock += 1_000;
      redis.setClock(clock);
      assertThat(acquire(both, call).rules().get(0).remaining()).isEqualTo(499 - i);
    }
    assertThat(acquire(before, call).allowed()).isFalse();
    assertThat(acquire(now, call).allowed()).isFalse();
    clock += MICROSECONDS.convert(HOUR) - 400_000;
    redis.setClock(clock);
    assertThat(acquire(now, call).rules().get(0).remaining()).isEqualTo(99);
    assertThat(acquire(before, call).rules().get(0).remaining()).isEqualTo(98);
  }

  @Test
  void eachKeepsTheBansOfTheOther() {
    Policy policy =
        Policy.of("banned", rule(1, MINUTE), FixedWindowRule.of(9, HOUR))
            .withBan(BanRule.of(2, HOUR, HOUR));
    for (List<LimitStore> order : List.of(List.of(before, now), List.of(now, before))) {
      LimitRequest call =
          LimitRequest.of(policy, new Subject("user", "user-" + order.indexOf(now)));
      assertThat(acquire(order.get(0), call).outcome()).isEqualTo(Outcome.ALLOWED);
      assertThat(acquire(order.get(0), call).outcome()).isEqualTo(Outcome.LIMITED);
      assertThat(acquire(order.get(1), call).outcome()).isEqualTo(Outcome.BANNED);
      clock += MICROSECONDS.convert(MINUTE.plus(SECOND));
      redis.setClock(clock);
      assertThat(acquire(order.get(0), call).ban()).contains(HOUR.minus(MINUTE).minus(SECOND));
    }
  }

  /**
   * The previous release dropped what other rules had counted: a ban, or missing tokens. It also
   * did not store when counting started, so that after a reset units of others may be given back.
   * Its leaky buckets had cells of another size.
   */
  private static boolean keepsItsRules(Scenario scenario) {
    Map<StateKey, RuleStack> stacks = new HashMap<>();
    if (scenario.steps().stream().anyMatch(step -> step.action() instanceof Step.Reset)) {
      return false;
    }
    return scenario.steps().stream()
        .filter(step -> step.action() instanceof Step.Decide)
        .flatMap(step -> ((Step.Decide) step.action()).request().allCharges().stream())
        .allMatch(
            charge ->
                charge.stack().waiting().isEmpty()
                    && stacks
                        .computeIfAbsent(charge.key(), first -> charge.stack())
                        .equals(charge.stack()));
  }

  /** Random stacks, modes, costs, refunds, renewals and steps of the clock. */
  @Test
  void bothTogetherAnswerAsTheModelDoes() {
    System.out.println(
        "Two releases and model: "
            + Differential.run(
                10_000,
                RollingDeployTest::keepsItsRules,
                steps -> {
                  var answers = Scenario.run(steps, new InTurn(before, now), redis::setClock);
                  now.reset(Scenario.keys(steps)).toCompletableFuture().join();
                  return answers;
                }));
  }
}
