// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.benchmarks.server.BenchmarkService;
import io.limiter.benchmarks.server.BenchmarkService.Script;
import io.limiter.core.testing.RedisFixture;
import io.micronaut.runtime.server.EmbeddedServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** However many calls there are, they come from 10,000 callers, over a real Redis. */
@Tag("matrix")
class CallersInTurnTest {

  @Test
  void tenThousandCallersTakeTurnsAndNoneIsDenied() throws Exception {
    try (EmbeddedServer server =
        BenchmarkService.start(
            RedisFixture.uri(),
            "test:" + UUID.randomUUID().toString().substring(0, 8) + ":",
            Script.DECISION,
            Map.of(
                "micronaut.server.port",
                -1,
                // On a busy machine the default could end a decision, and memory would count it.
                "limiter.redis.deadline",
                "10s",
                "limiter.redis.start-timeout",
                "10s"))) {
      URI limited = URI.create("http://127.0.0.1:" + server.getPort() + "/limited");
      assertThat(remaining(limited)).isEqualTo("999"); // for the first caller

      for (int calls : new int[] {5_000, 5_000, 5_000, 4_999}) {
        LoadResult load = OpenLoop.run(limited, calls, 1);
        assertThat(load.answers()).isEqualTo(calls);
        assertThat(load.denied()).isZero();
        assertThat(load.errors()).isZero();
      }

      // Each has called twice: the first calls for the third time.
      assertThat(remaining(limited)).isEqualTo("997");
    }
  }

  /** Of the first rule. */
  private static String remaining(URI uri) throws Exception {
    HttpResponse<Void> answer =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(uri).build(), BodyHandlers.discarding());
    return answer
        .headers()
        .firstValue("RateLimit")
        .orElseThrow()
        .replaceFirst("\"1000-per-60s\";r=([0-9]+);.*", "$1");
  }
}
