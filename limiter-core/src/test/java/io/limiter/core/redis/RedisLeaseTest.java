// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.lease.LeaseSimulation;
import io.limiter.core.testing.Seeds;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** No rule ever admits more than its count in Redis, whatever instances with leases do. */
class RedisLeaseTest {

  private static final double RATE = 0.0005;

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

  private static LeaseSimulation simulation(long seed, TestRedis redis, RedisStore store) {
    return new LeaseSimulation(seed, store, redis::setClock, RATE, seen -> seen);
  }
}
