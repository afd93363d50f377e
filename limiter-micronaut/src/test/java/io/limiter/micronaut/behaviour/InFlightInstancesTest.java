// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.awaitility.Awaitility.await;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Calls in flight are limited over all instances, and an instance that is gone holds no place. */
class InFlightInstancesTest {

  private static final Duration PERMIT_TIME = Duration.ofSeconds(1);

  private final Map<String, Object> settings =
      Map.of(
          "limiter.redis.key-prefix",
          "test:" + UUID.randomUUID().toString().substring(0, 8) + ":",
          "limiter.fallback",
          "deny");
  private final TestServer one = TestServer.start(InFlightRoutes.SPEC, settings);
  private final TestServer other = TestServer.start(InFlightRoutes.SPEC, settings);

  @AfterEach
  void close() {
    if (one.context().isRunning()) {
      one.close();
    }
    other.close();
  }

  @Test
  void thePlacesOfAnInstanceThatIsGoneAreFreeAfterThePermitTime() {
    var unused = one.getAsync("/in-flight/permit");
    RunningCalls running = one.bean(RunningCalls.class);
    await().until(() -> running.count() == 1);
    await()
        .during(PERMIT_TIME.multipliedBy(3).dividedBy(2))
        .atMost(Duration.ofSeconds(20))
        .until(() -> other.get("/in-flight/permit").statusCode() == 429);

    one.close();

    RunningCalls free = other.bean(RunningCalls.class);
    await()
        .atMost(Duration.ofSeconds(20))
        .until(
            () -> {
              CompletableFuture<HttpResponse<String>> answer = other.getAsync("/in-flight/permit");
              await().until(() -> answer.isDone() || free.count() == 1);
              return free.count() == 1;
            });
    free.end("done");
  }
}
