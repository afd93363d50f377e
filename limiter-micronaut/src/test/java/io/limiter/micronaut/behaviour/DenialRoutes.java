// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import reactor.core.publisher.Flux;

/** Routes that admit one call a minute. */
@Controller("/denials")
@Requires(property = DenialRoutes.ENABLED)
class DenialRoutes {

  static final String ENABLED = "test.denials";
  static final String MESSAGE = "Zu viele Anfragen – попробуйте позже, 待って ✋";

  @Get("/limited")
  @RateRule(count = 1, time = 60)
  String limited() {
    return "ok";
  }

  @Get("/stack")
  @RateLimiter(
      rules = {
        @RateRule(count = 1, time = 60, name = "burst"),
        @RateRule(count = 5, time = 3600, name = "sustained"),
        @RateRule(count = 1, time = 1800, name = "half-hour")
      })
  String stack() {
    return "ok";
  }

  @Get("/message")
  @RateLimiter(rules = @RateRule(count = 1, time = 60), message = MESSAGE)
  String message() {
    return "ok";
  }

  @Get("/message-by-argument")
  @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1, time = 60), message = MESSAGE)
  Flux<String> messageByArgument(@QueryValue String who) {
    return Flux.just("ok");
  }

  @Get("/arguments")
  @RateLimiter(
      value = "arguments",
      rules = @RateRule(count = 1, time = 1800, name = "half-hour"),
      message =
          "{code} {policy} {violated} {limit} {remaining} {window} {method} {path} {{it's}} {retryAfter}")
  String arguments() {
    return "ok";
  }

  @Get("/sms")
  @RateLimiter(rules = @RateRule(count = 1, time = 60), message = "{retryAfter}")
  String onlyAnArgument() {
    return "ok";
  }

  @Get("/three")
  @RateLimiter(
      rules = {
        @RateRule(count = 3, time = 60),
        @RateRule(count = 4, time = 3600),
        @RateRule(count = 3, time = 1800)
      })
  String three() {
    return "ok";
  }

  @Post("/duplicate")
  @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(count = 1, time = 60))
  String duplicate() {
    return "ok";
  }

  /** Answers denials of its own routes itself. */
  @Controller("/denials/local")
  @Requires(property = ENABLED)
  static class Local {

    @Get("/sync")
    @RateRule(count = 1, time = 60)
    String sync() {
      return "ok";
    }

    @Get("/flux")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1, time = 60))
    Flux<String> flux(@QueryValue String who) {
      return Flux.just("ok");
    }

    @Error
    HttpResponse<String> denied(HttpRequest<?> request, LimitDeniedException denied) {
      return HttpResponse.<String>status(503, "Busy")
          .body("local: " + denied.verdict().violated().get(0).rule().name());
    }
  }
}
