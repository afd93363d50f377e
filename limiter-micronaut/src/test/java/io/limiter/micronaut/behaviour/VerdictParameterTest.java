// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A method with a parameter for the verdict is always called, and receives the verdict. */
class VerdictParameterTest extends WithAndWithoutGate {

  VerdictParameterTest() {
    super(VerdictRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "mono", "flux", "argument?who=", "argument-sync?who="})
  void aDenialIsHandedToTheMethod(String route) {
    HttpResponse<String> admitted = call(route);
    HttpResponse<String> denied = call(route);

    assertThat(admitted.body()).contains("ALLOWED [0]");
    assertThat(denied.statusCode()).isEqualTo(200);
    assertThat(denied.body()).contains("LIMITED [0]");
    assertThat(field(denied, "RateLimit")).startsWith("\"1-per-60s\";r=0;t=");
    assertThat(denied.headers().firstValue("Retry-After")).isEmpty();
  }

  @Test
  void aVerdictParameterIsNoPartOfTheSubmission() {
    assertThat(server.post("/verdicts/submission", "{\"a\":1}").body()).isEqualTo("ALLOWED []");
    assertThat(server.post("/verdicts/submission", "{\"a\":1}").body()).isEqualTo("DUPLICATE []");
    assertThat(server.post("/verdicts/submission", "{\"a\":2}").body()).isEqualTo("ALLOWED []");
  }

  @Test
  void whereNothingLimitsItIsAllowed() {
    assertThat(server.get("/verdicts/unlimited").body()).isEqualTo("ALLOWED []");
  }

  @Test
  void aMethodOfABeanReceivesTheVerdictWhateverWasPassed() {
    assertThat(server.get("/verdicts/bean").body()).isEqualTo("ALLOWED [0]");
    assertThat(server.get("/verdicts/bean").body()).isEqualTo("LIMITED [0]");
  }

  private HttpResponse<String> call(String route) {
    return server.get(
        "/verdicts/" + (route.endsWith("=") ? route + caller : route),
        StatedCallers.ADDRESS,
        caller);
  }

  /** Methods that handle denied calls themselves. */
  @Controller("/verdicts")
  @Requires(property = "spec.name", value = VerdictRoutes.SPEC)
  static class VerdictRoutes {

    static final String SPEC = "Verdicts";

    private final Service service;

    VerdictRoutes(Service service) {
      this.service = service;
    }

    private static String summary(Verdict verdict) {
      return verdict.outcome() + " " + verdict.rules().stream().map(r -> r.remaining()).toList();
    }

    @Get("/sync")
    @RateRule(count = 1)
    String sync(Verdict verdict) {
      return summary(verdict);
    }

    @Get("/stage")
    @RateRule(count = 1)
    CompletionStage<String> stage(Verdict verdict) {
      return CompletableFuture.completedFuture(summary(verdict));
    }

    @Get("/mono")
    @RateRule(count = 1)
    Mono<String> mono(Verdict verdict) {
      return Mono.fromSupplier(() -> summary(verdict));
    }

    @Get("/flux")
    @RateRule(count = 1)
    Flux<String> flux(Verdict verdict) {
      return Flux.just(summary(verdict));
    }

    @Get("/argument")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1))
    Mono<String> argument(Verdict verdict, @QueryValue String who) {
      return Mono.just(summary(verdict));
    }

    @Get("/argument-sync")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1))
    String argumentSync(@QueryValue String who, Verdict verdict) {
      return summary(verdict);
    }

    /** The verdict is no part of what is submitted. */
    @Post("/submission")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    String submission(@Body Map<String, Integer> body, Verdict verdict) {
      return summary(verdict);
    }

    @Get("/unlimited")
    String unlimited(Verdict verdict) {
      return summary(verdict);
    }

    @Get("/bean")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String bean() {
      return service.call("x", null);
    }

    /** Limited without HTTP: whatever is passed, it gets the verdict. */
    @Singleton
    @Requires(property = "spec.name", value = SPEC)
    static class Service {

      @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
      String call(String other, @Nullable Verdict verdict) {
        return summary(Objects.requireNonNull(verdict));
      }
    }
  }
}
