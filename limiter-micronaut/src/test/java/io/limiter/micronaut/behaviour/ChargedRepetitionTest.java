// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.Idempotent;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Repetitions that the rules count, and may deny, before they receive the first response. */
class ChargedRepetitionTest {

  private static final String SPEC = "ChargedRepetitionTest";
  private static final String TEA = "{\"item\":\"tea\"}";

  @Controller("/charged")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final AtomicInteger runs = new AtomicInteger();
    private final CompletableFuture<String> end = new CompletableFuture<>();

    @Post("/order")
    @Idempotent(chargeRepetitions = true)
    @RateRule(count = 3)
    String order(@Body String order) {
      return "run " + runs.incrementAndGet();
    }

    @Post("/one-at-a-time")
    @Idempotent(chargeRepetitions = true)
    @ConcurrencyLimit(1)
    String oneAtATime(@Body String order) {
      return "run " + runs.incrementAndGet();
    }

    @Post("/slow")
    @Idempotent(chargeRepetitions = true, maxWait = "0s")
    @RateRule(count = 2)
    CompletionStage<String> slow(@Body String order) {
      runs.incrementAndGet();
      return end;
    }
  }

  private final String key = UUID.randomUUID().toString();

  private HttpService start(boolean redis) {
    Map<String, Object> settings = HttpService.settings();
    if (redis) {
      settings.put("redis.uri", RedisFixture.uri());
      settings.put("limiter.redis.key-prefix", key.substring(0, 8) + ":");
      settings.put("limiter.redis.deadline", "5s");
    }
    return HttpService.start(SPEC, settings);
  }

  private HttpResponse<String> post(HttpService service, String route, String body) {
    return service.post("/charged/" + route, body, "Idempotency-Key", key);
  }

  private void assertRepeated(HttpResponse<String> response, int remaining) {
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.body()).isEqualTo("run 1");
    assertThat(field(response, "Idempotency-Replayed")).isEqualTo("true");
    assertThat(field(response, "RateLimit")).contains(";r=" + remaining + ";");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isCountedAndDeniedLikeAFirstRequest(boolean redis) {
    try (HttpService service = start(redis)) {
      HttpResponse<String> first = post(service, "order", TEA);
      assertThat(first.body()).isEqualTo("run 1");
      assertThat(field(first, "RateLimit")).contains(";r=2;");
      assertRepeated(post(service, "order", TEA), 1);
      assertThat(post(service, "order", "{}").statusCode()).isEqualTo(422); // which is not charged
      assertRepeated(post(service, "order", TEA), 0);
      assertThat(post(service, "order", TEA).statusCode()).isEqualTo(429);
      assertThat(service.bean(Routes.class).runs).hasValue(1);
    }
  }

  /** It ends with its response. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void keepsNoPermit(boolean redis) {
    try (HttpService service = start(redis)) {
      for (int i = 0; i < 4; i++) {
        assertThat(post(service, "one-at-a-time", TEA).body()).isEqualTo("run 1");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isChargedAlsoIfItWaitsInVain(boolean redis) {
    try (HttpService service = start(redis)) {
      CompletableFuture<HttpResponse<String>> first =
          service.postAsync("/charged/slow", TEA, "Idempotency-Key", key);
      Routes routes = service.bean(Routes.class);
      await().until(() -> routes.runs.get() == 1);
      assertThat(post(service, "slow", TEA).statusCode()).isEqualTo(409);
      assertThat(post(service, "slow", TEA).statusCode()).isEqualTo(429);
      routes.end.complete("done");
      assertThat(first.join().body()).isEqualTo("done");
    }
  }
}
