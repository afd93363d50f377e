// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.Async;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Routes that go on behind their answer: the call ends with the method, not with the answer. */
class AsyncRoutesTest {

  private static final String SPEC = "AsyncRoutesTest";
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @Controller("/async")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    final CountDownLatch go = new CountDownLatch(1);

    @Get("/in-flight")
    @Async(TaskExecutors.IO)
    @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void inFlight() {
      await().atMost(PATIENCE).until(() -> go.getCount() == 0);
    }

    @Get("/submission")
    @Async(TaskExecutors.IO)
    @RateLimiter(preventDuplicate = true)
    void submission() {
      await().atMost(PATIENCE).until(() -> go.getCount() == 0);
      throw new IllegalStateException("failed");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aPlaceIsHeldUntilTheMethodEnds(boolean gate) {
    try (TestServer server = TestServer.start(SPEC, Map.of("limiter.gate.enabled", gate))) {
      assertThat(server.get("/async/in-flight").statusCode()).isEqualTo(200);
      assertThat(server.get("/async/in-flight").statusCode()).isEqualTo(429);

      server.bean(Routes.class).go.countDown();

      await().atMost(PATIENCE).until(() -> server.get("/async/in-flight").statusCode() == 200);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSubmissionThatFailsBehindItsAnswerMayBeMadeAgain(boolean gate) {
    try (TestServer server = TestServer.start(SPEC, Map.of("limiter.gate.enabled", gate))) {
      assertThat(server.get("/async/submission").statusCode()).isEqualTo(200);
      assertThat(server.get("/async/submission").statusCode()).isEqualTo(409);

      server.bean(Routes.class).go.countDown();

      await().atMost(PATIENCE).until(() -> server.get("/async/submission").statusCode() == 200);
    }
  }
}
