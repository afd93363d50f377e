// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Every denial has the same header fields, whatever denied the request and whatever handles the
 * denial.
 */
class DenialFieldsTest {

  private static final String SPEC = "DenialFieldsTest";

  @AutoClose private final TestServer server = TestServer.start(SPEC);

  @ParameterizedTest
  @CsvSource({
    "route, 1-per-100s",
    "bean, 1-per-90s",
    "both, 1-per-90s",
    "route?replaced, 1-per-100s"
  })
  void itIsNotCachedAndHasTheFieldsOfTheDenyingRules(String path, String rule) {
    assertThat(server.get("/out/" + path).statusCode()).isEqualTo(200);

    java.net.http.HttpResponse<String> denied = server.get("/out/" + path);
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(denied.body()).isEqualTo("own");
    assertThat(field(denied, "Cache-Control")).isEqualTo("no-store");
    assertThat(field(denied, "Retry-After")).matches("\\d+");
    assertThat(field(denied, "RateLimit")).startsWith('"' + rule + "\";r=0;");
  }

  @ParameterizedTest
  @CsvSource({"both", "caught"})
  void anAnswerThatIsNoDenialIsLeftAlone(String path) {
    java.net.http.HttpResponse<String> first = server.get("/out/" + path);

    assertThat(first.statusCode()).isEqualTo(200);
    assertThat(field(first, "Cache-Control")).isEqualTo("public, max-age=60");
    java.net.http.HttpResponse<String> caught = server.get("/out/caught");
    assertThat(caught.statusCode()).isEqualTo(200);
    assertThat(field(caught, "Cache-Control")).isEqualTo("public, max-age=60");
    assertThat(caught.headers().map()).doesNotContainKey("retry-after");
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Service {
    @RateRule(count = 1, time = 90)
    String call() {
      return "ok";
    }
  }

  @Controller("/out")
  @ExecuteOn(TaskExecutors.BLOCKING)
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Service service;

    Routes(Service service) {
      this.service = service;
    }

    @Get("/route")
    @RateRule(count = 1, time = 100)
    String route() {
      return "ok";
    }

    @Get("/bean")
    String bean() {
      return service.call();
    }

    @Get("/both")
    @RateRule(count = 50, time = 100)
    String both() {
      return service.call();
    }

    @Get("/caught")
    String caught() {
      try {
        return service.call();
      } catch (LimitDeniedException denied) {
        return "from the cache";
      }
    }

    @Error
    HttpResponse<String> denied(LimitDeniedException denied) {
      return HttpResponse.status(HttpStatus.TOO_MANY_REQUESTS).body("own");
    }
  }

  /** Puts an answer of its own in place of any. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Replacing {
    @ResponseFilter
    @Order(1_000)
    MutableHttpResponse<?> replace(HttpRequest<?> request, MutableHttpResponse<?> response) {
      return request.getUri().getQuery() == null
          ? response
          : HttpResponse.status(response.status()).body("own");
    }
  }

  /** Marks every response as cacheable. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Cacheable {
    @ResponseFilter
    @Order(-1_000)
    void store(MutableHttpResponse<?> response) {
      response.getHeaders().set(HttpHeaders.CACHE_CONTROL, "public, max-age=60");
    }
  }
}
