// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import jakarta.inject.Singleton;
import java.util.concurrent.atomic.AtomicInteger;

/** Routes whose limit somebody tries to get around: three calls a minute for each. */
@Controller("/bypass")
@Requires(property = "spec.name", value = BypassRoutes.SPEC)
class BypassRoutes {

  static final String SPEC = "Bypass";

  final AtomicInteger entered = new AtomicInteger();

  @Get("/items")
  @RateRule(count = 3, time = 60)
  String items() {
    entered.incrementAndGet();
    return "items";
  }

  @Get("/users/{name}")
  @RateLimiter(subject = "#{name}", rules = @RateRule(count = 3, time = 60))
  String user(@PathVariable String name) {
    return name;
  }

  @Post("/upload")
  @RateRule(count = 3, time = 60)
  String upload(@Body String body) {
    entered.incrementAndGet();
    return "uploaded";
  }

  /** For each key that a caller invents, and for the address whatever keys. */
  @Get("/paired")
  @RateLimiter(header = "X-Api-Key", rules = @RateRule(count = 2, time = 60))
  @RateLimiter(limitType = LimitType.IP, rules = @RateRule(count = 4, time = 60))
  String paired() {
    return "ok";
  }

  @Get("/failing/handled")
  @RateRule(count = 3, time = 60)
  String handled() {
    throw new Handled();
  }

  @Get("/failing/own-route")
  @RateRule(count = 3, time = 60)
  String ownRoute() {
    throw new OwnRoute();
  }

  @Get("/failing/broken-route")
  @RateRule(count = 3, time = 60)
  String brokenRoute() {
    throw new BrokenRoute();
  }

  @Get("/failing/status")
  @RateRule(count = 3, time = 60)
  HttpResponse<?> status() {
    return HttpResponse.status(HttpStatus.GONE);
  }

  @Get("/failing/unhandled")
  @RateRule(count = 3, time = 60)
  String unhandled() {
    throw new IllegalStateException("it is not handled");
  }

  @Error(OwnRoute.class)
  String own() {
    return "own";
  }

  @Error(BrokenRoute.class)
  String broken() {
    throw new IllegalStateException("the error route is broken");
  }

  @Error(status = HttpStatus.GONE)
  String gone() {
    return "gone";
  }

  static final class Handled extends RuntimeException {}

  static final class OwnRoute extends RuntimeException {}

  static final class BrokenRoute extends RuntimeException {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Handler implements ExceptionHandler<Handled, HttpResponse<?>> {
    @Override
    public HttpResponse<?> handle(HttpRequest request, Handled exception) {
      return HttpResponse.ok("handled");
    }
  }
}
