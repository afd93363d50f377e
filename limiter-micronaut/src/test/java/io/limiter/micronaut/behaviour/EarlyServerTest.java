// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.server.EmbeddedServer;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * The first denial looks up once how the application handles denials. Its routes are complete by
 * then, even if a bean of the context creates the server before all others.
 */
class EarlyServerTest {

  private static final int TEAPOT = 418;

  @Test
  void theErrorMethodOfTheApplicationAnswersDenials() {
    try (HttpService service =
        HttpService.start("EarlyServerTest", Map.of("limiter.redis.start-timeout", "10s"))) {
      assertThat(service.get("/early").statusCode()).isEqualTo(200);
      assertThat(service.get("/early").statusCode()).isEqualTo(TEAPOT);
    }
  }

  /**
   * @param server unused: it is created with this bean
   */
  @Context
  @Requires(property = "spec.name", value = "EarlyServerTest")
  record Early(EmbeddedServer server) {}

  @Controller
  @Requires(property = "spec.name", value = "EarlyServerTest")
  static class Routes {

    @Get("/early")
    @RateRule(count = 1, time = 60)
    String limited() {
      return "ok";
    }

    @Error(global = true)
    HttpResponse<?> denied(RateLimitExceededException denied) {
      return HttpResponse.status(TEAPOT, "Short and stout");
    }
  }
}
