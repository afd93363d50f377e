// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateLimiter;
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
import io.micronaut.http.annotation.Filter;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.HttpServerFilter;
import io.micronaut.http.filter.ServerFilterChain;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

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
    "argument?who=a, 1-per-80s",
    "route?replaced=outside, 1-per-100s",
    "route?replaced=security, 1-per-100s",
    "route?replaced=older, 1-per-100s",
    "argument?who=a&replaced=outside, 1-per-80s",
    "argument?who=a&replaced=security, 1-per-80s",
    "argument?who=a&replaced=older, 1-per-80s",
    "argument?who=a&replaced=behind, 1-per-80s"
  })
  void itIsNotCachedAndHasTheFieldsOfTheDenyingRules(String path, String rule) {
    assertThat(server.get("/out/" + path).statusCode()).isEqualTo(200);

    java.net.http.HttpResponse<String> denied = server.get("/out/" + path);
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(denied.body()).isEqualTo("own");
    assertThat(field(denied, "Cache-Control")).isEqualTo("no-store");
    assertThat(field(denied, "Retry-After")).matches("\\d+");
    assertThat(field(denied, "RateLimit")).matches('"' + rule + "\";r=0;t=\\d+");
    assertThat(field(denied, "RateLimit-Policy")).matches('"' + rule + "\";q=1;w=\\d+");
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

    @Get("/argument")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1, time = 80))
    String argument(@QueryValue String who) {
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

  private static MutableHttpResponse<?> replaced(
      String by, HttpRequest<?> request, MutableHttpResponse<?> response) {
    return by.equals(request.getParameters().get("replaced"))
        ? HttpResponse.status(response.status()).body("own")
        : response;
  }

  /** Puts an answer of its own in place of any, outside of all filters of the limiter but one. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Outside {
    @ResponseFilter
    @Order(1_000)
    MutableHttpResponse<?> replace(HttpRequest<?> request, MutableHttpResponse<?> response) {
      return replaced("outside", request, response);
    }
  }

  /** Does so where security is, between the gate and the filter that completes calls. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Security {
    @ResponseFilter
    @Order(39_000)
    MutableHttpResponse<?> replace(HttpRequest<?> request, MutableHttpResponse<?> response) {
      return replaced("security", request, response);
    }
  }

  /** Does so as a filter of the older kind. */
  @Filter(Filter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Older implements HttpServerFilter {
    @Override
    public int getOrder() {
      return 39_000;
    }

    @Override
    public Publisher<MutableHttpResponse<?>> doFilter(
        HttpRequest<?> request, ServerFilterChain chain) {
      return Flux.from(chain.proceed(request))
          .map(response -> replaced("older", request, response));
    }
  }

  /** Does so behind the gate, where it sees only what the guard denies. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Behind {
    @ResponseFilter
    MutableHttpResponse<?> replace(HttpRequest<?> request, MutableHttpResponse<?> response) {
      return replaced("behind", request, response);
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
