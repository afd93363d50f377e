// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static java.util.Optional.empty;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.lease.LeaseSimulation;
import io.limiter.core.lease.LeaseStore;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.Seeds;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** No rule ever admits more than its count in Redis, whatever instances with leases do. */
class RedisLeaseTest {

  private static final double RATE = 0.0005;

  private static final Duration DEADLINE = Duration.ofSeconds(10);

  @Test
  void noRuleIsExceeded() {
    check(10_000);
  }

  @Test
  @Tag("matrix")
  void noRuleIsExceededForLong() {
    check(60_000);
  }

  private static void check(long wanted) {
    AtomicLong leased = new AtomicLong();
    try (TestRedis redis = new TestRedis();
        RedisStore store = redis.store()) {
      long steps =
          Seeds.forEach(
              wanted,
              seed -> {
                LeaseSimulation simulation = simulation(seed, redis, store);
                simulation.check();
                leased.addAndGet(simulation.leased());
                return LeaseSimulation.STEPS;
              });
      System.out.printf("Leases in Redis: %d steps, %d units spent locally%n", steps, leased.get());
      assertThat(leased.get()).isGreaterThan(steps / 20);
    }
  }

  /**
   * If the time of the last write were the newest stamp, a lease would make the time of the log run
   * ahead of the clock.
   */
  @Test
  void theSimulationFindsATimeThatFollowsTheStamps() {
    try (TestRedis redis = new TestRedis();
        RedisStore store =
            redis.mistakenStore(
                "stamp > now and pack('>d', stamp) or nowBytes, need + stamp - now\n",
                "stamp > now and pack('>d', stamp) or nowBytes, need + stamp - now\n"
                    + "nowBytes = newestBytes\n")) {
      long over = 0;
      for (long seed = 0; over <= 0; seed++) {
        assertThat(seed).as("scenarios without a rule that is exceeded").isLessThan(200);
        over = simulation(seed, redis, store).mostOver();
      }
    }
  }

  /** Redis stands still from when the lease is asked for until the instance stops. */
  @Test
  void whatIsGrantedWhileAnInstanceStopsGoesBack() throws InterruptedException {
    RuleStack rules = RuleStack.of(List.of(FixedWindowRule.of(1_000, Duration.ofHours(1))));
    LimitRequest call =
        LimitRequest.of(
                new Policy("p", "p", List.of(rules.withLease(Duration.ofSeconds(10))), empty()),
                Subject.global())
            .withCost(20);
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        RedisStore other = store(redis)) {
      CompletableFuture<?> asked = new CompletableFuture<>();
      LeaseStore stops =
          new LeaseStore(
              new DelegatingStore(new FallbackStore(store(redis), new MemoryStore())) {
                @Override
                public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
                  return CompletableFuture.runAsync(redis::suspend)
                      .thenCompose(
                          suspended -> {
                            CompletionStage<Grant> granted = store.lease(units, time);
                            asked.complete(null);
                            return granted;
                          });
                }
              });
      assertThat(stops.decide(call, Mode.ACQUIRE)).succeedsWithin(DEADLINE);
      asked.join();

      Thread end = new Thread(stops::close);
      end.start();
      await().until(() -> end.getState() == Thread.State.TIMED_WAITING);
      redis.resume();
      end.join();

      assertThat(stops.units().get("p").returned()).isPositive();
      assertThat(other.decide(call, Mode.PEEK).toCompletableFuture().join().rules())
          .extracting(RuleVerdict::remaining)
          .containsExactly(980L);
    }
  }

  private static RedisStore store(RedisProcess redis) {
    RedisSettings settings = new RedisSettings("leased:", DEADLINE);
    SharedConnection connection = SharedConnection.open(RedisURI.create(redis.uri()), settings);
    assertThat(connection.firstAttempt()).succeedsWithin(DEADLINE);
    return new RedisStore(connection, settings);
  }

  private static LeaseSimulation simulation(long seed, TestRedis redis, RedisStore store) {
    return new LeaseSimulation(seed, store, redis::setClock, RATE, seen -> seen);
  }
}
