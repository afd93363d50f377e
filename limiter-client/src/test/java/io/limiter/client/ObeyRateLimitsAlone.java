// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.reflect.ClassUtils;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.runtime.server.EmbeddedServer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** In a service without any other module of the limiter. */
class ObeyRateLimitsAlone {

  private static final String SPEC = "ObeyRateLimitsAlone";

  @Controller
  @Requires(property = "spec.name", value = SPEC)
  static class Server {

    final AtomicInteger calls = new AtomicInteger();

    /** Denies the first call. */
    @Get("/items")
    HttpResponse<String> items() {
      return calls.incrementAndGet() == 1
          ? HttpResponse.<String>status(429, "Too Many Requests").header("Retry-After", "1")
          : HttpResponse.ok("ok");
    }
  }

  @ObeyRateLimits
  @Client("/")
  @Requires(property = "spec.name", value = SPEC)
  interface Obedient {
    @Get("/items")
    String items();
  }

  @Test
  void aCallWaitsForTheEndOfAPause() {
    for (String other : new String[] {"core.Limiter", "micronaut.annotation.RateRule"}) {
      assertThat(ClassUtils.isPresent("io.limiter." + other, getClass().getClassLoader()))
          .as(other)
          .isFalse();
    }
    try (EmbeddedServer server =
        ApplicationContext.run(
            EmbeddedServer.class, Map.of("spec.name", SPEC, "micronaut.server.port", -1))) {
      Obedient client = server.getApplicationContext().getBean(Obedient.class);
      assertThatThrownBy(client::items).isInstanceOf(HttpClientResponseException.class);
      long begin = System.nanoTime();

      assertThat(client.items()).isEqualTo("ok");
      assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThan(Duration.ofMillis(800));
    }
  }

  @Test
  void aNameThatNoSettingHasStopsTheStart() {
    assertThatThrownBy(() -> ApplicationContext.run(Map.of("limiter.client.max-waits", 1)))
        .rootCause()
        .hasMessageContaining("limiter.client.max-waits: there is no such setting");
  }
}
