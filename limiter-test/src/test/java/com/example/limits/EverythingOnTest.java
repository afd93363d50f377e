// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.event.LimiterEvent;
import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MutableHttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import io.micronaut.test.support.TestPropertyProvider;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The kit in an application that has all optional features on: application-everything.yml. */
class EverythingOnTest {

  @Controller
  @Requires(env = "everything")
  static class EveryController {
    @Get("/every")
    String every() {
      return "every";
    }
  }

  @Singleton
  @Requires(env = "everything")
  static class PremiumKeys implements Tiers {
    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      return CompletableFuture.completedFuture("premium");
    }
  }

  @Singleton
  @Requires(env = "everything")
  static class Events implements ApplicationEventListener<LimiterEvent> {
    private final List<LimiterEvent> seen = new CopyOnWriteArrayList<>();

    @Override
    public void onApplicationEvent(LimiterEvent event) {
      seen.add(event);
    }
  }

  abstract static class Everything {

    @Inject
    @Client("/")
    HttpClient client;

    @Inject Limits limits;
    @Inject Events events;

    private Callable<HttpResponse<String>> from(String address, String... header) {
      return () -> send(HttpRequest.GET("/every"), address, header);
    }

    private HttpResponse<String> send(
        MutableHttpRequest<?> request, String address, String... header) {
      request.header("X-Forwarded-For", address);
      if (header.length == 2) {
        request.header(header[0], header[1]);
      }
      return client.toBlocking().exchange(request, String.class);
    }

    private void operator(String action, String body) {
      HttpRequest<?> request = HttpRequest.POST("/limits/every/" + action, body);
      assertThat(client.toBlocking().exchange(request).code()).isEqualTo(200);
    }

    @Test
    void itDecides() throws Exception {
      Limits.DeniedCalls denied = limits.assertAdmits(3, from("10.0.0.1")).thenDenies();

      denied.withStatus(429);
      assertThat(denied.response().getContentType().orElseThrow())
          .hasToString("application/problem+json");
      limits.assertAdmits(5, from("10.0.0.2", "X-Api-Key", "k1")).thenDenies();
      limits.assertAdmits(9, from("192.0.2.1"));
      limits.expecting(403).assertAdmits(1, from("203.0.113.1"));
      await().until(() -> !events.seen.isEmpty());
    }

    @Test
    void overridesHold() {
      limits.assertAdmits(3, from("10.0.0.3")).thenDenies();
      operator(
          "override", "{\"address\":\"10.0.0.3\",\"counts\":{\"3-per-60s\":4},\"time\":\"1h\"}");
      limits.assertAdmits(1, from("10.0.0.3")).thenDenies();

      operator("override", "{\"address\":\"10.0.0.3\",\"unlimited\":true,\"time\":\"1h\"}");
      limits.assertAdmits(9, from("10.0.0.3"));
    }

    @Test
    void itIsSeen() {
      limits.assertAdmits(3, from("10.0.0.5")).thenDenies();

      assertThat(client.toBlocking().retrieve("/metrics")).contains("limiter.decisions");
      assertThat(client.toBlocking().retrieve("/limits/every")).contains("10.0.0.5");
      assertThat(client.toBlocking().retrieve("/health")).contains("UP");
    }
  }

  @LimitTest
  @MicronautTest(environments = "everything")
  static class InMemory extends Everything {}

  @LimitTest(store = LimitTest.Store.REDIS)
  @MicronautTest(environments = "everything")
  @TestInstance(TestInstance.Lifecycle.PER_CLASS)
  static class InRedis extends Everything implements TestPropertyProvider {
    @Override
    public Map<String, String> getProperties() {
      return Map.of("redis.uri", RedisFixture.uri(), "limiter.redis.deadline", "10s");
    }
  }

  @ParameterizedTest
  @ValueSource(classes = {InMemory.class, InRedis.class})
  void theKitStartsAndDecides(Class<?> test) {
    Launched result = Launched.run(test);

    assertThat(result.failures()).isEmpty();
    assertThat(result.passed()).hasSize(3);
  }
}
