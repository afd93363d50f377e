// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.net.http.HttpResponse;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What JSON cannot hold is found at the start by its type, or else by the first call. */
class UnwritableArgumentsTest {

  private static final String SPEC = "UnwritableArgumentsTest";

  /** Can be read, but not written. */
  @Introspected
  static class Broken {
    private String item = "";

    public void setItem(String item) {
      this.item = item;
    }

    public String getItem() {
      throw new UnsupportedOperationException("write-only: " + item);
    }
  }

  /** Is written as {}, whatever it holds. */
  @Introspected
  static class Hidden {
    private String item = "";

    @JsonProperty
    public void setItem(String item) {
      this.item = item;
    }

    @JsonIgnore
    public String getItem() {
      return item;
    }
  }

  /** Contains itself. */
  @Introspected
  static class Circle {
    public Circle getOwn() {
      return this;
    }
  }

  @Controller("/unwritable")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    final AtomicInteger entered = new AtomicInteger();

    @Post("/broken")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void broken(@QueryValue int n, @Body Broken order) {
      entered.incrementAndGet();
    }

    @Post("/circle")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void circle(@QueryValue int n, @Body Circle order) {
      entered.incrementAndGet();
    }

    @Post("/counted")
    @RateLimiter(
        rules = @RateRule(count = 2),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void counted(@QueryValue int n, @Body Broken order) {
      entered.incrementAndGet();
    }

    @Post("/counted-mono")
    @RateLimiter(
        rules = @RateRule(count = 2, counts = Counts.FAILURES),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    Mono<String> countedMono(@QueryValue int n, @Body Broken order) {
      return Mono.fromCallable(() -> "entered " + entered.incrementAndGet());
    }

    @Post("/counted-flux")
    @RateLimiter(
        rules = @RateRule(count = 2),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    Flux<String> countedFlux(@QueryValue int n, @Body Broken order) {
      return Flux.just("entered " + entered.incrementAndGet());
    }

    @Post("/hidden")
    @RateLimiter(preventDuplicate = true)
    void hidden(@QueryValue int n, @Body Hidden order) {
      entered.incrementAndGet();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "broken, Broken, cannot be written as JSON",
    "circle, Circle, cannot be written as JSON",
    "hidden, Hidden, 'is written as an empty JSON object, whatever its content'"
  })
  void theCallFailsWithTheReason(String method, String type, String mistake) {
    try (TestServer server = TestServer.start(SPEC);
        LoggedWarnings warnings = LoggedWarnings.begin()) {
      HttpResponse<String> answer =
          server.post("/unwritable/" + method + "?n=1", "{\"item\":\"secret tea\"}");

      assertThat(answer.statusCode()).isEqualTo(500);
      assertThat(answer.body()).doesNotContain("secret");
      assertThat(warnings.unhandled())
          .singleElement(InstanceOfAssertFactories.STRING)
          .contains(
              "%s.%s(int,%s): @Duplicate.by = ARGUMENTS: the argument 'order' (%s) %s"
                  .formatted(
                      Routes.class.getName(), method, typeName(type), typeName(type), mistake),
              "let the JSON mapper write its properties",
              "by = CALLER")
          .doesNotContain("secret");
      assertThat(server.bean(Routes.class).entered).hasValue(0);
      assertThat(server.keys().all()).as("there is no rule that could count it").isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"counted", "counted-mono", "counted-flux"})
  void itsRulesCountTheCall(String method) {
    try (TestServer server = TestServer.start(SPEC)) {
      for (int status : new int[] {500, 500, 429, 429}) {
        assertThat(server.post("/unwritable/" + method + "?n=1", "{\"item\":\"tea\"}").statusCode())
            .isEqualTo(status);
      }
      assertThat(server.bean(Routes.class).entered).hasValue(0);
    }
  }

  private static String typeName(String simple) {
    return UnwritableArgumentsTest.class.getName() + '$' + simple;
  }
}
