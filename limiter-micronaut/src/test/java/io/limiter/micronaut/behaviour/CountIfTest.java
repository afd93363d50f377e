// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.limiter.micronaut.annotation.CountCondition;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.exceptions.HttpStatusException;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** An expression or a bean selects by their answers the calls that count: here two an hour. */
class CountIfTest extends WithAndWithoutGate {

  CountIfTest() {
    super(
        CountIfRoutes.SPEC,
        Map.of("test.stated-callers", true, "limiter.policies.changed.count-if", "teapots"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // A route, and the status of each call
        "status?status=404             | 404 404 429",
        "status?status=200             | 200 200 200 200",
        "status?status=500             | 500 500 500 500",
        "thrown?status=404             | 404 404 429",
        "thrown?status=409             | 409 409 409 409",
        "arguments?dry=false           | 200 200 429",
        "arguments?dry=true            | 200 200 200 200",
        "result?cached=false           | 200 200 429",
        "result?cached=true            | 200 200 200 200",
        "result-later?cached=false     | 200 200 429",
        "result-later?cached=true      | 200 200 200 200",
        "result-mono?cached=false      | 200 200 429",
        "result-mono?cached=true       | 200 200 200 200",
        "empty?found=true              | 200 200 429",
        "empty?found=false             | 404 404 404 404",
        "stream?n=3                    | 200 200 429",
        "broken                        | 200 200 429",
        "changed?status=404            | 404 404 404 404",
        "changed?status=418            | 418 418 429",
      })
  void aCallCountsIfItsAnswerIsSelected(String route, String statuses) {
    for (String status : statuses.split(" ")) {
      assertThat(status(route)).as(route).isEqualTo(Integer.parseInt(status));
    }
  }

  /** A call that does not count is nevertheless denied once its rule is used up. */
  @Test
  void unitsAreTakenWhenTheCallBegins() {
    assertThat(List.of(status("result?cached=true"), status("result?cached=false")))
        .containsOnly(200);
    assertThat(List.of(status("result?cached=true"), status("result?cached=false")))
        .containsOnly(200);
    assertThat(status("result?cached=true")).isEqualTo(429);
  }

  @Test
  void outsideOfHttpAnExceptionIs500() {
    CountedBean bean = server.bean(CountedBean.class);
    assertThat(bean.call(false)).isEqualTo("ok");
    assertThat(bean.call(false)).isEqualTo("ok");
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(() -> bean.call(true)).hasMessage("failed");
    }
    assertThatThrownBy(() -> bean.call(false)).hasMessageContaining("2-per-3600s");
  }

  @Test
  void aPolicyOfSettingsNamesABean() {
    assumeTrue(gate, "only the gate limits paths");
    Map<String, Object> settings =
        Map.of(
            "test.stated-callers",
            true,
            "limiter.policies.by-path.count-if",
            "misses",
            "limiter.policies.by-path.rules",
            List.of(Map.of("count", 2, "time", "1h")),
            "limiter.routes",
            List.of(Map.of("path", "/count-if/by-path", "policy", "by-path")));
    try (TestServer other = start(settings)) {
      for (int expected : new int[] {200, 200, 200, 404, 404, 429}) {
        assertThat(other.status("/count-if/by-path?status=" + (expected == 429 ? 200 : expected)))
            .isEqualTo(expected);
      }
    }
  }

  private int status(String route) {
    return server.status("/count-if/" + route, StatedCallers.ADDRESS, caller);
  }

  @Controller("/count-if")
  @Requires(property = "spec.name", value = CountIfRoutes.SPEC)
  static class CountIfRoutes {

    static final String SPEC = "CountIf";

    private static final int HOUR = 3_600;

    @Get("/status")
    @RateLimiter(countIf = "#{status == 404}", rules = @RateRule(count = 2, time = HOUR))
    HttpResponse<String> status(@QueryValue("status") int answered) {
      return HttpResponse.status(HttpStatus.valueOf(answered)).body("status");
    }

    @Get("/thrown")
    @RateLimiter(countIf = "#{status == 404}", rules = @RateRule(count = 2, time = HOUR))
    String thrown(@QueryValue("status") int answered) {
      throw new HttpStatusException(HttpStatus.valueOf(answered), "thrown");
    }

    @Get("/arguments")
    @RateLimiter(countIf = "#{status == 200 and !dry}", rules = @RateRule(count = 2, time = HOUR))
    String arguments(@QueryValue boolean dry) {
      return "arguments";
    }

    @Get("/result")
    @RateLimiter(countIf = "misses", rules = @RateRule(count = 2, time = HOUR))
    Map<String, Boolean> result(@QueryValue boolean cached) {
      return Map.of("cached", cached);
    }

    @Get("/result-later")
    @RateLimiter(countIf = "misses", rules = @RateRule(count = 2, time = HOUR))
    CompletionStage<Map<String, Boolean>> resultLater(@QueryValue boolean cached) {
      return CompletableFuture.supplyAsync(() -> Map.of("cached", cached));
    }

    @Get("/result-mono")
    @RateLimiter(countIf = "misses", rules = @RateRule(count = 2, time = HOUR))
    Mono<Map<String, Boolean>> resultMono(@QueryValue boolean cached) {
      return Mono.just(Map.of("cached", cached));
    }

    @Get("/empty")
    @RateLimiter(countIf = "#{result != null}", rules = @RateRule(count = 2, time = HOUR))
    Mono<String> empty(@QueryValue boolean found) {
      return found ? Mono.just("found") : Mono.empty();
    }

    @Get("/stream")
    @RateLimiter(
        countIf = "#{status == 200 and result == null}",
        rules = @RateRule(count = 2, time = HOUR))
    Flux<Integer> stream(@QueryValue int n) {
      return Flux.range(0, n);
    }

    @Get("/broken")
    @RateLimiter(countIf = "broken", rules = @RateRule(count = 2, time = HOUR))
    String broken() {
      return "broken";
    }

    @Get("/changed")
    @RateLimiter(
        value = "changed",
        countIf = "#{status == 404}",
        rules = @RateRule(count = 2, time = HOUR))
    HttpResponse<String> changed(@QueryValue("status") int answered) {
      return HttpResponse.status(HttpStatus.valueOf(answered)).body("changed");
    }

    @Get("/by-path")
    HttpResponse<String> byPath(@QueryValue("status") int answered) {
      return HttpResponse.status(HttpStatus.valueOf(answered)).body("by path");
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = CountIfRoutes.SPEC)
  static class CountedBean {

    @RateLimiter(
        limitType = LimitType.GLOBAL,
        countIf = "#{status == 500}",
        rules = @RateRule(count = 2, time = 3_600))
    String call(boolean fails) {
      if (fails) {
        throw new IllegalStateException("failed");
      }
      return "ok";
    }
  }

  /** Counts what was not found, and what was found and not cached. */
  @Singleton
  @Named("misses")
  @Requires(property = "spec.name", value = CountIfRoutes.SPEC)
  static class Misses implements CountCondition {
    @Override
    public boolean counts(int status, Object result) {
      return status == 404
          || (result instanceof Map<?, ?> found && Boolean.FALSE.equals(found.get("cached")));
    }
  }

  @Singleton
  @Named("teapots")
  @Requires(property = "spec.name", value = CountIfRoutes.SPEC)
  static class Teapots implements CountCondition {
    @Override
    public boolean counts(int status, Object result) {
      return status == 418;
    }
  }

  @Singleton
  @Named("broken")
  @Requires(property = "spec.name", value = CountIfRoutes.SPEC)
  static class Broken implements CountCondition {
    @Override
    public boolean counts(int status, Object result) {
      throw new AssertionError("broken");
    }
  }
}
