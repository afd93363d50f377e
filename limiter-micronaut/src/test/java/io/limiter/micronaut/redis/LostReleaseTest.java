// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Redis is lost while a submission runs that fails: its guard cannot be released. */
class LostReleaseTest {

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final Service service = Service.start(redis, "test.lost-release", true);
  private final RecordedLog log = RecordedLog.of("io.limiter.micronaut.call.LimitedCall");

  @AfterEach
  void close() {
    log.close();
    service.close();
    redis.close();
  }

  @Test
  void theLogNamesTheLoss() {
    Orders orders = service.bean(Orders.class);

    // Repeated, since the log is bounded in time and another test may just have used it.
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              if (!redis.isRunning()) {
                redis.start();
              }
              await().until(service::decidesInRedis);
              assertThatThrownBy(() -> orders.order(redis)).hasMessage("The order failed");
              return log.messages().stream()
                  .anyMatch(line -> line.startsWith("A submission could not be released"));
            });
  }

  @Singleton
  @Requires(property = "test.lost-release")
  static class Orders {

    @RateLimiter(preventDuplicate = true, limitType = LimitType.GLOBAL)
    void order(RedisProcess redis) {
      redis.kill();
      throw new IllegalStateException("The order failed");
    }
  }
}
