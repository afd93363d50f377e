// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Answer;
import io.limiter.core.Differential;
import io.limiter.core.LogScenarios;
import io.limiter.core.Scenario;
import io.limiter.core.Step;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("matrix")
class MemoryDifferentialTest {

  private static final long NEVER_EXPIRE = Long.MAX_VALUE / 4;

  @Test
  void theMemoryStoreAnswersAsTheModelDoes() {
    System.out.println("Memory store and model: " + Differential.run(400_000, this::run));
  }

  @Test
  void logsOfChangingRulesAreCountedAsTheModelDoes() {
    LogScenarios.check(200_000, this::run);
  }

  private List<Answer> run(List<Step> steps) {
    AtomicLong clock = new AtomicLong();
    try (MemoryStore store = new MemoryStore(10_000, clock::get, NEVER_EXPIRE)) {
      return Scenario.run(steps, store, clock::set);
    }
  }
}
