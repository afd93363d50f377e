// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.call;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a renewal writes in Redis, and that instances see each other's calls in flight. */
class RedisPermitsTest implements RedisHarness {

  private static final long SLACK_MILLIS = 1_000;

  private final TestRedis redis = new TestRedis();
  private final RedisStore store = redis.store();
  private final long started = System.nanoTime();

  @BeforeEach
  void begin() {
    redis.setClock(START_MICROS);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  @Override
  public LimitStore store() {
    return store;
  }

  @Override
  public TestRedis redis() {
    return redis;
  }

  /** Exact except for the time that this test has taken. */
  private void assertLives(Charge charge, Duration window) {
    long expected = window.toMillis() + window.toMillis() / 16 + SLACK_MILLIS;
    long life = redis.commands().pttl(redis.name(charge.key())) - TestRedis.EXTRA_LIFE_MILLIS;
    long taken = (System.nanoTime() - started) / 1_000_000 + 1;
    assertThat(life).isBetween(expected - taken, expected);
  }

  @Test
  void aRenewedPermitLivesItsDurationAndASecondLonger() {
    LimitRequest call = call(ConcurrencyLimitRule.of(2, MINUTE));
    Verdict running = acquire(call);
    redis.commands().pexpire(redis.name(call.charge(0).key()), 10_000);
    assertThat(renew(running)).isEqualTo(1);
    assertLives(call.charge(0), MINUTE);
  }

  @Test
  void instancesShareTheCallsInFlight() {
    LimitRequest call = call(ConcurrencyLimitRule.of(2));
    try (RedisStore other = redis.store()) {
      Verdict here = acquire(call);
      Verdict there = other.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
      assertThat(there.allowed()).isTrue();
      assertLimited(call);
      assertThat(other.decide(call, Mode.ACQUIRE).toCompletableFuture().join().allowed()).isFalse();
      settle(there, Completion.succeeded());
      assertAllowed(call);
      settle(here, Completion.succeeded());
      assertThat(other.decide(call, Mode.ACQUIRE).toCompletableFuture().join().allowed()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 48, 49, 60, 1_000, 10_000})
  void aRenewalTakesItsPlaceWhateverOtherClientsWroteUnderItsKey(int length) {
    LimitRequest call = call(ConcurrencyLimitRule.of(1));
    byte[] garbage = new byte[length];
    Random random = new Random(length);
    for (int i = 0; i < 20; i++) {
      Verdict running = acquire(call);
      random.nextBytes(garbage);
      redis.commands().set(redis.name(call.charge(0).key()), garbage);
      assertThat(renew(running)).isEqualTo(1);
      assertLimited(call);
      assertThat(settle(running, Completion.succeeded())).isEqualTo(1);
      assertThat(stored(call)).containsOnly(Optional.empty());
    }
  }
}
