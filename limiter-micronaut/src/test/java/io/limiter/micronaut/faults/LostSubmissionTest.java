// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.testing.RedisProcess;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A process is killed while a submission runs in it. */
@Tag("faults")
class LostSubmissionTest {

  private final HttpClient client = HttpClient.newHttpClient();
  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private ServiceProcess first;
  private ServiceProcess second;

  @BeforeEach
  void start() throws Exception {
    first = ServiceProcess.start(redis.uri(), "event-loop");
    second = ServiceProcess.start(redis.uri(), "event-loop");
  }

  @AfterEach
  void close() {
    first.close();
    second.close();
    redis.close();
  }

  private CompletableFuture<HttpResponse<String>> post(
      ServiceProcess to, String route, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("http://localhost:%s/paused/%s/ada".formatted(to.port(), route)))
            .POST(HttpRequest.BodyPublishers.ofString("{}"))
            .timeout(Duration.ofSeconds(30))
            .headers("Content-Type", "application/json");
    if (headers.length > 0) {
      request.headers(headers);
    }
    return client.sendAsync(request.build(), BodyHandlers.ofString());
  }

  private void awaitKey(String pattern) {
    try (RedisClient redisClient = RedisClient.create(redis.uri());
        StatefulRedisConnection<String, String> connection = redisClient.connect()) {
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> connection.sync().keys(pattern).size() == 1);
    }
  }

  /** The guard of 24 hours is held for two seconds at a time while the method runs. */
  @Test
  void aKilledProcessFreesItsDuplicateGuardAfterItsClaim() {
    var never = post(first, "guarded", "X-Held", "the dead");
    awaitKey("*d.*");
    await() // it is renewed
        .during(Duration.ofSeconds(3))
        .atMost(Duration.ofSeconds(20))
        .until(() -> post(second, "guarded").join().statusCode() == 409);
    first.close();
    assertThat(never).failsWithin(Duration.ofSeconds(20));

    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> post(second, "guarded").join().statusCode() == 200);
    await()
        .during(Duration.ofSeconds(3))
        .atMost(Duration.ofSeconds(20))
        .until(() -> post(second, "guarded").join().statusCode() == 409);
  }
}
