// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.Map;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Routes whose subject is whatever a caller sends; two calls a minute for each. */
@Controller("/hostile")
@Requires(property = "spec.name", value = HostileRoutes.SPEC)
class HostileRoutes {

  /** Two a minute, and the same one once. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      rules = @RateRule(count = 2, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60),
      duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
  @interface SubmittedOnce {}

  static final String SPEC = "Hostile";

  @Get("/query")
  @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
  String query(@QueryValue String who) {
    return "ok";
  }

  @Get("/query-mono")
  @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
  Mono<String> queryMono(@Nullable @QueryValue String who) {
    return Mono.just("ok");
  }

  @Get("/query-flux")
  @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
  Flux<Integer> queryFlux(@Nullable @QueryValue String who) {
    return Flux.just(1);
  }

  @Get("/path/{who}")
  @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
  String path(@PathVariable String who) {
    return "ok";
  }

  @Get("/header")
  @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
  String header(@Header("X-Who") String who) {
    return "ok";
  }

  @Post("/body")
  @RateLimiter(subject = "#{order.get('who')}", rules = @RateRule(count = 2, time = 60))
  String body(@Nullable @Body Map<String, Object> order) {
    return "ok";
  }

  @Post("/submission")
  @SubmittedOnce
  String submission(@Body Map<String, Object> order) {
    return "ok";
  }

  @Post("/submission-mono")
  @SubmittedOnce
  Mono<String> submissionMono(@Body Map<String, Object> order) {
    return Mono.just("ok");
  }

  @Post("/submission-typed")
  @SubmittedOnce
  String submissionTyped(@Body Nested order) {
    return "ok";
  }

  @Post("/free-typed")
  String freeTyped(@Body Nested order) {
    return "ok";
  }

  /** As deep as its sender likes. */
  @Introspected
  record Nested(@Nullable Nested a) {}
}
