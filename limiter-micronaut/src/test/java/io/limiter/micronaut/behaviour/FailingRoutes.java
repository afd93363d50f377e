// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Submissions that are accepted once a minute for each caller, unless they fail. */
@Controller("/failing")
@Requires(property = "spec.name", value = Failures.SPEC)
class FailingRoutes {

  private static final String OK = "ok";

  private final Failures failures;

  FailingRoutes(Failures failures) {
    this.failures = failures;
  }

  @Post("/sync")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  String sync() {
    failures.throwPending();
    return OK;
  }

  @Post("/elsewhere")
  @ExecuteOn(TaskExecutors.BLOCKING)
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  String elsewhere() {
    failures.throwPending();
    return OK;
  }

  @Post("/stage")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  CompletionStage<String> stage() {
    Throwable failure = failures.pending();
    return CompletableFuture.runAsync(() -> {})
        .thenCompose(
            done ->
                failure == null
                    ? CompletableFuture.completedFuture(OK)
                    : CompletableFuture.failedFuture(failure));
  }

  @Post("/stage-throws")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  CompletionStage<String> stageThrows() {
    failures.throwPending();
    return CompletableFuture.completedFuture(OK);
  }

  @Post("/mono")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  Mono<String> mono() {
    Throwable failure = failures.pending();
    return failure == null ? Mono.just(OK) : Mono.error(failure);
  }

  @Post("/mono-throws")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  Mono<String> monoThrows() {
    failures.throwPending();
    return Mono.just(OK);
  }

  @Post("/flux")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  Flux<Integer> flux() {
    Throwable failure = failures.pending();
    return failure == null ? Flux.just(1, 2) : Flux.error(failure);
  }

  @Post("/flux-throws")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  Flux<Integer> fluxThrows() {
    failures.throwPending();
    return Flux.just(1, 2);
  }

  @Post("/status{?code}")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60),
      duplicate = @Duplicate(by = DuplicateBy.CALLER))
  HttpResponse<String> status(@QueryValue int code) {
    return HttpResponse.status(HttpStatus.valueOf(code));
  }

  @Post("/status-stage{?code}")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60),
      duplicate = @Duplicate(by = DuplicateBy.CALLER))
  CompletionStage<HttpResponse<String>> statusStage(@QueryValue int code) {
    return CompletableFuture.completedFuture(HttpResponse.status(HttpStatus.valueOf(code)));
  }

  @Post("/status-mono{?code}")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60),
      duplicate = @Duplicate(by = DuplicateBy.CALLER))
  Mono<HttpResponse<String>> statusMono(@QueryValue int code) {
    return Mono.just(HttpResponse.status(HttpStatus.valueOf(code)));
  }

  @Post("/body")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60),
      duplicate = @Duplicate(by = DuplicateBy.CALLER))
  String body(@Body Map<String, List<Integer>> body) {
    return OK;
  }

  @Post("/kept")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60),
      duplicate = @Duplicate(releaseOnFailure = false))
  String kept() {
    failures.throwPending();
    return OK;
  }
}
