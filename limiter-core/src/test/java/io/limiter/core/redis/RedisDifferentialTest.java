// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Answer;
import io.limiter.core.Differential;
import io.limiter.core.Scenario;
import io.limiter.core.Step;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("matrix")
class RedisDifferentialTest {

  @Test
  void theRedisStoreAnswersAsTheModelDoes() {
    try (TestRedis redis = new TestRedis();
        RedisStore store = redis.store()) {
      System.out.println(
          "Redis store and model: " + Differential.run(120_000, steps -> run(redis, store, steps)));
    }
  }

  private static List<Answer> run(TestRedis redis, RedisStore store, List<Step> steps) {
    List<Answer> answers = Scenario.run(steps, store, redis::setClock, redis::lose);
    store.reset(Scenario.keys(steps)).toCompletableFuture().join();
    return answers;
  }
}
