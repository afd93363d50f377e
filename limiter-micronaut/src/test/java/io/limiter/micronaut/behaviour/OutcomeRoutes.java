// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Routes that count two calls an hour, of those that end in one way. */
@Controller("/outcomes")
@Requires(property = "spec.name", value = OutcomeRoutes.SPEC)
class OutcomeRoutes {

  static final String SPEC = "Outcomes";

  private static final int HOUR = 3_600;

  final AtomicInteger checks = new AtomicInteger();

  /** How a call ends. */
  @Introspected
  enum End {
    OK,
    /** An answer of 401. */
    DENIED,
    /** An exception that is answered with 200. */
    HANDLED,
    /** An exception without a handler. */
    BROKEN;

    HttpResponse<String> end() {
      return switch (this) {
        case OK -> HttpResponse.ok("ok");
        case DENIED -> HttpResponse.<String>status(HttpStatus.UNAUTHORIZED).body("denied");
        case HANDLED -> throw new Handled();
        case BROKEN -> throw new IllegalStateException("broken");
      };
    }
  }

  static final class Handled extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  @Error
  HttpResponse<String> handled(Handled handled) {
    return HttpResponse.ok("handled");
  }

  @Get("/failures/sync")
  @RateRule(count = 2, time = HOUR, counts = Counts.FAILURES)
  HttpResponse<String> sync(@QueryValue End end) {
    return end.end();
  }

  @Get("/failures/argument")
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 2, time = HOUR, counts = Counts.FAILURES))
  HttpResponse<String> argument(@QueryValue String who, @QueryValue End end) {
    return end.end();
  }

  @Get("/failures/flux")
  @RateRule(count = 2, time = HOUR, counts = Counts.FAILURES)
  Flux<String> flux(@QueryValue End end) {
    return Flux.just("items ").concatWith(Mono.fromCallable(() -> end.end().body()));
  }

  @Post("/failures/body")
  @RateRule(count = 2, time = HOUR, counts = Counts.FAILURES)
  String body(@Body Map<String, Integer> body) {
    return "ok";
  }

  /** Only a 401 is a failure. */
  @Get("/denials")
  @RateLimiter(failedOn = 401, rules = @RateRule(count = 2, time = HOUR, counts = Counts.FAILURES))
  HttpResponse<String> denials(@QueryValue End end) {
    return end.end();
  }

  @Get("/successes")
  @RateRule(count = 2, time = HOUR, counts = Counts.SUCCESSES)
  HttpResponse<String> successes(@QueryValue End end) {
    return end.end();
  }

  /** All three kinds in one decision. */
  @Get("/stacked")
  @RateLimiter(
      rules = {
        @RateRule(count = 10, time = HOUR, name = "calls"),
        @RateRule(count = 2, time = HOUR, counts = Counts.FAILURES, name = "failures"),
        @RateRule(count = 5, time = HOUR, counts = Counts.SUCCESSES, name = "successes")
      })
  HttpResponse<String> stacked(@QueryValue End end) {
    return end.end();
  }

  /** A password is looked at, which takes a while. */
  @Get("/log-in")
  @RateLimiter(
      subject = "#{user}",
      rules = @RateRule(count = 3, time = HOUR, counts = Counts.FAILURES))
  Mono<HttpResponse<String>> logIn(@QueryValue String user) {
    return Mono.fromCallable(
            () -> {
              checks.incrementAndGet();
              return End.DENIED.end();
            })
        .delayElement(Duration.ofMillis(20));
  }

  /** A stream that never ends by itself. */
  @Get("/endless")
  @RateRule(count = 2, time = HOUR, counts = Counts.FAILURES)
  Flux<String> endless() {
    return Flux.concat(Flux.just("item"), Flux.never());
  }
}
