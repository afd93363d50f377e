// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A denied caller that waits for the retry-after is admitted, and one that calls a microsecond
 * earlier is not; the same for a caller that always comes later.
 */
public interface RetryAfterContract extends StoreHarness {

  int COUNT = 4;

  /** Denials that a caller meets in one case, and the most calls that it makes. */
  int DENIALS = 3;

  int MOST_CALLS = 40;

  /** One of each algorithm; buckets with every possible number of initial tokens. */
  static Stream<Rule> polledRules() {
    List<Rule> rules =
        new ArrayList<>(
            List.of(
                rule(COUNT, SECOND),
                SlidingWindowCounterRule.of(COUNT, SECOND),
                FixedWindowRule.of(COUNT, SECOND),
                FixedWindowRule.aligned(COUNT, SECOND, ZoneOffset.UTC),
                LeakyBucketRule.of(2, SECOND, COUNT - 1, SECOND.multipliedBy(5)),
                LeakyBucketRule.of(2, SECOND, COUNT - 1, Duration.ofMillis(700)).withFair(false),
                new CustomRule("custom", COUNT, SECOND, new FadingCounter(), List.of(2.0), HOUR)));
    for (int initial = 0; initial <= COUNT; initial++) {
      rules.add(TokenBucketRule.of(COUNT, 10, SECOND).startingWith(initial));
      rules.add(TokenBucketRule.of(COUNT, 3, Duration.ofMillis(701)).startingWith(initial));
      rules.add(TokenBucketRule.of(COUNT, 3, SECOND).byInterval().startingWith(initial));
    }
    return rules.stream();
  }

  /** The behaviour of a caller: how its call is denied, and how long it then waits. */
  record Caller(Optional<BanRule> ban, boolean observed, boolean refunds, int waits) {}

  private static List<Caller> callers() {
    List<Caller> callers = new ArrayList<>();
    for (int waits : new int[] {1, 3, 31}) {
      for (boolean refunds : new boolean[] {false, true}) {
        callers.add(new Caller(Optional.empty(), false, refunds, waits));
        callers.add(new Caller(Optional.empty(), true, refunds, waits));
        callers.add(new Caller(ban(1, 3_000), false, refunds, waits));
        callers.add(new Caller(ban(2, 50), false, refunds, waits));
        callers.add(new Caller(ban(1, 3_000), true, refunds, waits));
      }
    }
    return callers;
  }

  private static Optional<BanRule> ban(int violations, long millis) {
    return Optional.of(
        BanRule.of(violations, SECOND, Duration.ofMillis(millis))
            .growing(2, Duration.ofMillis(4 * millis)));
  }

  @ParameterizedTest
  @MethodSource("polledRules")
  default void aCallAfterTheRetryAfterIsAdmitted(Rule rule) {
    for (int cost = 1; cost <= COUNT + 1; cost++) {
      for (Caller caller : callers()) {
        String who = "%s at %d of %s".formatted(caller, cost, rule);
        RuleStack stack = RuleStack.of(List.of(rule));
        RuleStack banning = caller.ban.map(stack::withBan).orElse(stack);
        Policy policy = new Policy("polled", "polled", List.of(banning), Optional.empty());
        LimitRequest call = LimitRequest.of(policy, new Subject("user", who)).withCost(cost);
        poll(caller.observed ? call.observe() : call, caller, who);
      }
    }
  }

  private void poll(LimitRequest call, Caller caller, String who) {
    int denials = 0;
    for (int calls = 0; denials < DENIALS && calls < MOST_CALLS; calls++) {
      Verdict verdict = acquire(call);
      if (!denied(verdict)) {
        if (caller.refunds && calls % 2 == 0) {
          advance(Duration.ofMillis(calls % 3));
          refund(verdict);
        }
        continue;
      }
      denials++;
      Optional<Duration> wait =
          caller.observed ? verdict.rules().get(0).retryAfter() : verdict.retryAfter();
      if (wait.isEmpty()) {
        long most = call.charge(0).stack().rules().get(0).capacity();
        assertThat((long) call.charge(0).cost()).as("never passes: %s", who).isGreaterThan(most);
        return;
      }
      advance(wait.get().minus(TICK));
      assertThat(denied(peek(call))).as("denied a tick before %s: %s", wait, who).isTrue();
      advance(TICK.plus(wait.get().multipliedBy(caller.waits - 1)));
      assertThat(denied(acquire(call))).as("denied after %s: %s", wait, who).isFalse();
    }
    assertThat(denials).as("denials of %s", who).isEqualTo(DENIALS);
  }

  private static boolean denied(Verdict verdict) {
    return verdict.rules().stream().anyMatch(RuleVerdict::violated) || !verdict.allowed();
  }

  /** A call each 3.1 s, where the bucket is full within one. */
  @Test
  default void aBucketThatStartsEmptyAdmitsASubjectThatCallsRarely() {
    LimitRequest call = call(TokenBucketRule.of(10, 10, SECOND).startingWith(0));
    assertLimited(call);
    for (int i = 0; i < 20; i++) {
      advance(Duration.ofMillis(3_100));
      assertThat(acquire(call).rules().get(0).remaining()).isEqualTo(9);
    }
  }
}
