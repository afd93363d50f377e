// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.lease;

import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.testing.Seeds;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** No rule ever admits more than its count, whatever instances with leases do. */
class LeaseBoundTest {

  /** As the docs promise for clocks of instances. */
  private static final double RATE = 0.0005;

  private final AtomicLong clock = new AtomicLong();

  @Test
  void noRuleIsExceeded() {
    AtomicLong leased = new AtomicLong();
    long steps =
        Seeds.forEach(
            200_000,
            seed -> {
              LeaseSimulation simulation = simulation(seed, RATE, seen -> seen);
              simulation.check();
              leased.addAndGet(simulation.leased());
              return LeaseSimulation.STEPS;
            });
    System.out.printf("Leases in memory: %d steps, %d units spent locally%n", steps, leased.get());
    assertThat(leased.get()).isGreaterThan(steps / 20);
  }

  /** The same simulation finds mistakes that a store or an instance could make. */
  @ParameterizedTest
  @EnumSource
  void theSimulationFindsMistakes(Mistake mistake) {
    double rate = mistake == Mistake.FASTER_CLOCKS_THAN_THE_MARGIN ? 0.2 : RATE;
    long over = 0;
    for (long seed = 0; over <= 0; seed++) {
      assertThat(seed).as("scenarios without a rule that is exceeded").isLessThan(1_000);
      over = simulation(seed, rate, seen -> new MistakenStore(seen, mistake)).mostOver();
    }
  }

  private LeaseSimulation simulation(long seed, double rate, UnaryOperator<LimitStore> seen) {
    MemoryStore store = new MemoryStore(1_000, clock::get);
    return new LeaseSimulation(seed, store, clock::set, rate, seen);
  }

  enum Mistake {
    STAMPED_AT_THE_GRANT,
    TIME_BEGINS_WITH_THE_REPLY,
    SPENT_AFTER_THE_END,
    FASTER_CLOCKS_THAN_THE_MARGIN
  }

  private final class MistakenStore extends DelegatingStore {
    private final Mistake mistake;

    MistakenStore(LimitStore store, Mistake mistake) {
      super(store);
      this.mistake = mistake;
    }

    @Override
    public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
      long micros = MICROSECONDS.convert(time);
      long asked = clock.get();
      return switch (mistake) {
        case STAMPED_AT_THE_GRANT ->
            store
                .decide(units, Mode.ACQUIRE)
                .thenApply(
                    verdict ->
                        new Grant(verdict, micros, some -> CompletableFuture.completedFuture(0L)));
        case TIME_BEGINS_WITH_THE_REPLY ->
            store.lease(units, time).thenApply(grant -> longer(grant, clock.get() - asked));
        case SPENT_AFTER_THE_END ->
            store.lease(units, time).thenApply(grant -> longer(grant, grant.micros()));
        case FASTER_CLOCKS_THAN_THE_MARGIN -> store.lease(units, time);
      };
    }

    private Grant longer(Grant grant, long micros) {
      return new Grant(grant.verdict(), grant.micros() + micros, grant.giveBack());
    }
  }
}
