// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Units that were taken while Redis was away, recorded before the call that carries them. */
class PastChargesTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final int SAFE = 1_000;

  private final TestRedis redis = new TestRedis();
  private final RedisStore store = redis.store();
  private long clock = 1_700_000_000_000_000L;

  @BeforeEach
  void set() {
    redis.setClock(clock);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  @Test
  void theyCountFromTheTimeAtWhichTheyWereTaken() {
    LimitRequest call = call("ada", SlidingWindowLogRule.of(10, MINUTE));

    Verdict first = acquire(store, call.after(List.of(past(call, 6, Duration.ofSeconds(20)))));

    assertThat(first.rules().get(0).remaining()).isEqualTo(3);
    assertThat(first.rules().get(0).effectiveWindow()).isEqualTo(Duration.ofSeconds(40));
    advance(Duration.ofSeconds(40));
    assertThat(acquire(store, call).rules().get(0).remaining()).isEqualTo(8);
  }

  @Test
  void theyAreRecordedThoughTheCallIsDenied() {
    LimitRequest call = call("ada", SlidingWindowLogRule.of(10, MINUTE));

    Verdict denied = acquire(store, call.after(List.of(past(call, 10, Duration.ofSeconds(1)))));

    assertThat(denied.allowed()).isFalse();
    assertThat(denied.retryAfter()).contains(Duration.ofSeconds(59));
    assertThat(acquire(store, call).allowed()).isFalse();
  }

  @Test
  void groupsOfSeveralAgesAreRecordedInTheirOrder() {
    LimitRequest call = call("ada", SlidingWindowLogRule.of(10, MINUTE));
    LimitRequest bringing =
        call.after(
            List.of(past(call, 2, Duration.ofSeconds(20)), past(call, 3, Duration.ofSeconds(10))));

    assertThat(acquire(store, bringing).rules().get(0).remaining()).isEqualTo(4);
    advance(Duration.ofSeconds(40));
    assertThat(acquire(store, call).rules().get(0).remaining()).isEqualTo(5);
  }

  @Test
  void youngerUnitsThatAreThereKeepTheLogInOrder() {
    LimitRequest call = call("ada", SlidingWindowLogRule.of(10, MINUTE));
    assertThat(acquire(store, call).allowed()).isTrue();
    advance(Duration.ofSeconds(5));

    Verdict verdict = acquire(store, call.after(List.of(past(call, 4, Duration.ofSeconds(30)))));

    assertThat(verdict.rules().get(0).remaining()).isEqualTo(4);
    advance(Duration.ofSeconds(55));
    assertThat(acquire(store, call).rules().get(0).remaining()).isEqualTo(8);
  }

  @Test
  void eachSubjectOfACallHasItsOwn() {
    LimitRequest ada = call("ada", SlidingWindowLogRule.of(10, MINUTE));
    LimitRequest all = call("all", TokenBucketRule.of(20, 20, MINUTE));
    LimitRequest both =
        ada.and(all)
            .after(
                List.of(past(ada, 2, Duration.ofSeconds(1)), past(all, 7, Duration.ofSeconds(0))));

    assertThat(acquire(store, both).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(7L, 12L);
  }

  @Test
  void theReplyAndUnitsOfTheCallAreItsOwn() {
    LimitRequest call =
        call("ada", FixedWindowRule.of(10, MINUTE), SlidingWindowLogRule.of(5, MINUTE));
    Verdict verdict = acquire(store, call.after(List.of(past(call, 2, Duration.ofSeconds(3)))));

    assertThat(verdict.reservation().refund().toCompletableFuture().join()).isEqualTo(1);
    assertThat(acquire(store, call).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(7L, 2L);
  }

  /** Memory and Redis agree. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void memoryRecordsThemAsRedisDoes(long seed) {
    Random random = new Random(seed);
    MemoryStore memory = new MemoryStore(SAFE, () -> clock);
    for (int round = 0; round < 40; round++) {
      LimitRequest call = call("round" + round, rule(random));
      for (int step = 0; step < 30; step++) {
        advance(Duration.ofMillis(random.nextInt(9_000)));
        List<PastCharge> past = new ArrayList<>();
        int age = 20_000;
        while (random.nextInt(3) == 0 && past.size() < 5) {
          age -= random.nextInt(4_000);
          past.add(past(call, 1 + random.nextInt(3), Duration.ofMillis(age)));
        }
        List<PastCharge> same =
            past.stream().map(one -> new PastCharge(one.charge(), one.age())).toList();
        LimitRequest costing = call.withCost(1 + random.nextInt(2));
        Verdict expected = acquire(memory, costing.after(same));
        Verdict actual = acquire(store, costing.after(past));
        assertThat(actual.rules())
            .as("seed %d, round %d, step %d, %s", seed, round, step, past)
            .isEqualTo(expected.rules());
      }
    }
  }

  private static Rule rule(Random random) {
    int count = 2 + random.nextInt(8);
    Duration window = Duration.ofSeconds(5 + random.nextInt(40));
    return switch (random.nextInt(5)) {
      case 0 -> TokenBucketRule.of(count, 1 + random.nextInt(count), window);
      case 1 -> SlidingWindowCounterRule.of(count, window);
      case 2 -> FixedWindowRule.of(count, window);
      default -> SlidingWindowLogRule.of(count, window);
    };
  }

  private static PastCharge past(LimitRequest call, int units, Duration age) {
    return new PastCharge(call.charge(0).withCost(units), age);
  }

  private static LimitRequest call(String subject, Rule... rules) {
    return LimitRequest.of(
        new Policy("past", "past", List.of(RuleStack.of(List.of(rules))), Optional.empty()),
        new Subject("test", subject));
  }

  private void advance(Duration time) {
    clock += time.toNanos() / 1_000;
    redis.setClock(clock);
  }

  private static Verdict acquire(LimitStore store, LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }
}
