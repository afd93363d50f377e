// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Methods that handle denied calls themselves. */
@Controller("/verdicts")
@Requires(property = "spec.name", value = VerdictRoutes.SPEC)
class VerdictRoutes {

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
