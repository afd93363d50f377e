// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.call.AdmissionControl;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Clients that hang up while they wait for their turn: nothing of them is left. */
class LeavingWaitersTest {

  private static final String SPEC = "LeavingWaitersTest";
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final LimitRequest QUEUE =
      LimitRequest.of(
          Policy.of(
              "queue",
              LeakyBucketRule.of(100, Duration.ofMinutes(5), 100, Duration.ofMinutes(5))
                  .withFair(false)),
          Subject.global());

  @Controller
  @Requires(property = "spec.name", value = SPEC)
  static class Queue {

    private final AtomicInteger departed = new AtomicInteger();

    @Get("/queue")
    @RateLimiter(
        key = "queue",
        limitType = LimitType.GLOBAL,
        rules =
            @RateRule(
                count = 100,
                time = 300,
                leakyBucket = @LeakyBucket(queue = 100, fair = false)))
    String depart() {
      return "departed " + departed.incrementAndGet();
    }
  }

  @Test
  void nothingOfThemIsLeft() throws IOException {
    leave(300);
  }

  @Test
  @Tag("faults")
  void nothingOfThreeThousandIsLeft() throws IOException {
    leave(3_000);
  }

  /** A hundred at a time: as many as may wait. */
  private static void leave(int clients) throws IOException {
    try (TestServer server = TestServer.start(SPEC, Map.of("limiter.fallback", "deny"));
        LoggedWarnings warnings = LoggedWarnings.begin()) {
      Limiter limiter = server.bean(Limiter.class);
      AdmissionControl turns = server.bean(AdmissionControl.class);
      assertThat(server.get("/queue").body()).isEqualTo("departed 1");
      for (int left = 0; left < clients; left += 100) {
        List<Socket> waiting = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
          Socket client = server.open("/queue");
          client.setSoLinger(true, 0);
          waiting.add(client);
        }
        await().atMost(PATIENCE).until(() -> turns.waiting() >= 98); // some turns may have come
        for (Socket client : waiting) {
          client.close();
        }
        await().atMost(PATIENCE).until(() -> turns.waiting() == 0);
        // Their places are given back by commands that may still be on their way.
        await()
            .atMost(PATIENCE)
            .until(
                () ->
                    limiter.peek(QUEUE).toCompletableFuture().join().rules().get(0).remaining()
                        >= 100);
      }

      assertThat(server.bean(Queue.class).departed.get()).isLessThan(100);
      assertThat(warnings.excess()).isEmpty();
    }
  }
}
