// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Answer;
import io.limiter.core.Scenario;
import io.limiter.core.ScenarioGenerator;
import io.limiter.core.Step;
import io.limiter.core.memory.EverlastingMemory;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The rules of one subject change again and again, and instances with the old and the new ones call
 * in turn. The memory store and the Redis store have to answer alike.
 */
@Tag("matrix")
class ChangedRulesDifferentialTest {

  private static final int DECISIONS = 120_000;

  /** Failures that are reported in full; for the others, only their seeds. */
  private static final int REPORTED = 2;

  @Test
  void bothStoresAnswerAlike() {
    List<Long> seeds = new ArrayList<>();
    List<String> failures = new ArrayList<>();
    try (TestRedis redis = new TestRedis();
        RedisStore store = redis.store()) {
      long decisions =
          Seeds.forEach(
              DECISIONS,
              seed -> {
                Scenario scenario = ScenarioGenerator.changing(seed);
                try {
                  if (seeds.size() < REPORTED) {
                    scenario.check(this::memory, steps -> run(redis, store, steps));
                  } else if (!memory(scenario.steps())
                      .equals(run(redis, store, scenario.steps()))) {
                    seeds.add(seed);
                  }
                } catch (AssertionError differs) {
                  seeds.add(seed);
                  failures.add(differs.getMessage());
                }
                return Scenario.decisions(scenario.steps());
              });
      System.out.printf("Memory store and Redis store: %d decisions%n", decisions);
    }
    assertThat(seeds).as("seeds that differ: %s", String.join("\n\n", failures)).isEmpty();
  }

  private List<Answer> memory(List<Step> steps) {
    AtomicLong clock = new AtomicLong();
    try (MemoryStore store = EverlastingMemory.store(clock::get)) {
      return Scenario.run(steps, store, clock::set);
    }
  }

  private static List<Answer> run(TestRedis redis, RedisStore store, List<Step> steps) {
    List<Answer> answers = Scenario.run(steps, store, redis::setClock, redis::lose);
    store.reset(Scenario.keys(steps)).toCompletableFuture().join();
    return answers;
  }
}
