// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Submissions of an address that are released by some statuses only, or by none. */
@Controller("/release-on")
@Requires(property = "spec.name", value = ReleaseOnRoutes.SPEC)
class ReleaseOnRoutes {

  /** Of a caller, by these statuses only. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60),
      duplicate =
          @Duplicate(
              releaseOn = {422, 503},
              by = DuplicateBy.CALLER))
  @interface ReleasedOn422And503 {}

  /** By this status only. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60),
      duplicate = @Duplicate(releaseOn = 500))
  @interface ReleasedOn500 {}

  /** Of a caller, and kept whatever happens. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60),
      duplicate = @Duplicate(releaseOnFailure = false, by = DuplicateBy.CALLER))
  @interface NeverReleased {}

  static final String SPEC = "ReleaseOn";

  @Post("/sync")
  @ReleasedOn422And503
  HttpResponse<String> sync(@QueryValue Ending end, @QueryValue int status) {
    return end.end(status);
  }

  @Post("/stage")
  @ReleasedOn422And503
  CompletionStage<HttpResponse<String>> stage(@QueryValue Ending end, @QueryValue int status) {
    return CompletableFuture.supplyAsync(() -> end.end(status));
  }

  @Post("/stage-throws")
  @ReleasedOn422And503
  CompletionStage<HttpResponse<String>> stageThrows(
      @QueryValue Ending end, @QueryValue int status) {
    return CompletableFuture.completedFuture(end.end(status));
  }

  @Post("/mono")
  @ReleasedOn422And503
  Mono<HttpResponse<String>> mono(@QueryValue Ending end, @QueryValue int status) {
    return Mono.fromCallable(() -> end.end(status));
  }

  /** Throws before there is a stream. */
  @Post("/flux-throws")
  @ReleasedOn422And503
  Flux<Integer> fluxThrows(@QueryValue Ending end, @QueryValue int status) {
    throw end.exception(status);
  }

  /** Fails within its stream. */
  @Post("/flux")
  @ReleasedOn422And503
  Flux<Integer> flux(@QueryValue Ending end, @QueryValue int status) {
    return Flux.error(end.exception(status));
  }

  @Post("/500/sync")
  @ReleasedOn500
  String sync500() {
    throw Ending.UNEXPECTED.exception(500);
  }

  @Post("/500/stage")
  @ReleasedOn500
  CompletionStage<String> stage500() {
    return CompletableFuture.failedFuture(Ending.UNEXPECTED.exception(500));
  }

  @Post("/500/mono")
  @ReleasedOn500
  Mono<String> mono500() {
    return Mono.error(Ending.UNEXPECTED.exception(500));
  }

  @Post("/500/flux")
  @ReleasedOn500
  Flux<Integer> flux500() {
    return Flux.error(Ending.UNEXPECTED.exception(500));
  }

  @Post("/500/flux-begun")
  @ReleasedOn500
  Flux<Integer> fluxBegun500() {
    return Flux.concat(Flux.just(1), Flux.error(Ending.UNEXPECTED.exception(500)));
  }

  @Post("/never/sync")
  @NeverReleased
  HttpResponse<String> neverSync(@QueryValue Ending end, @QueryValue int status) {
    return end.end(status);
  }

  @Post("/never/stage")
  @NeverReleased
  CompletionStage<HttpResponse<String>> neverStage(@QueryValue Ending end, @QueryValue int status) {
    return CompletableFuture.supplyAsync(() -> end.end(status));
  }

  @Post("/never/mono")
  @NeverReleased
  Mono<HttpResponse<String>> neverMono(@QueryValue Ending end, @QueryValue int status) {
    return Mono.fromCallable(() -> end.end(status));
  }

  @Post("/never/flux")
  @NeverReleased
  Flux<Integer> neverFlux(@QueryValue Ending end, @QueryValue int status) {
    return Flux.error(end.exception(status));
  }

  @Post("/payments")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 24 * 3_600),
      duplicate =
          @Duplicate(
              by = DuplicateBy.IDEMPOTENCY_KEY,
              releaseOn = {402, 500, 503}))
  String pay(@Body Map<String, Integer> body) {
    return "paid";
  }

  @Post("/payments/never")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 24 * 3_600),
      duplicate = @Duplicate(by = DuplicateBy.IDEMPOTENCY_KEY, releaseOnFailure = false))
  String payNever(@Body Map<String, Integer> body) {
    return "paid";
  }

  @Post("/bound/400")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60),
      duplicate = @Duplicate(releaseOn = 400, by = DuplicateBy.CALLER))
  String boundOn400(@Body Map<String, List<Integer>> body) {
    return "ok";
  }

  @Post("/bound/500")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60),
      duplicate = @Duplicate(releaseOn = 500, by = DuplicateBy.CALLER))
  String boundOn500(@Body Map<String, List<Integer>> body) {
    return "ok";
  }

  @Post("/bound/never")
  @NeverReleased
  String boundNever(@Body Map<String, List<Integer>> body) {
    return "ok";
  }
}
