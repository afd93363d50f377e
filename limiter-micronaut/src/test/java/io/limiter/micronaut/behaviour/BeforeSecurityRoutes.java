// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.exceptions.HttpStatusException;
import java.util.concurrent.atomic.AtomicInteger;

/** Routes behind a door that looks at a password, and limits on either side of it. */
@Controller("/doors")
@Requires(property = "spec.name", value = BeforeSecurityRoutes.SPEC)
class BeforeSecurityRoutes {

  static final String SPEC = "BeforeSecurity";
  static final String PASSWORD = "X-Password";

  /** Stands for security, at its order. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Security {

    final AtomicInteger looks = new AtomicInteger();

    @RequestFilter
    @Order(39_000)
    @Nullable
    HttpResponse<?> authenticate(HttpRequest<?> request) {
      looks.incrementAndGet();
      if ("right".equals(request.getHeaders().get(PASSWORD))) {
        return null;
      }
      if (request.getPath().endsWith("thrown")) {
        throw new HttpStatusException(HttpStatus.UNAUTHORIZED, "who is it?");
      }
      return HttpResponse.unauthorized();
    }
  }

  @Get("/all")
  @RateLimiter(beforeSecurity = true, rules = @RateRule(count = 3, time = 60))
  String all() {
    return "in";
  }

  @Get("/thrown")
  @RateLimiter(beforeSecurity = true, rules = @RateRule(count = 3, time = 60))
  String thrown() {
    return "in";
  }

  @Get("/failures")
  @RateLimiter(
      beforeSecurity = true,
      failedOn = 401,
      rules = @RateRule(count = 3, time = 60, counts = Counts.FAILURES))
  String failures() {
    return "in";
  }

  @Get("/short")
  @RateLimiter(beforeSecurity = true, rules = @RateRule(count = 1, time = 3))
  String shortTime() {
    return "in";
  }

  @Get("/place")
  @RateLimiter(
      beforeSecurity = true,
      rules = @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT))
  String place() {
    return "in";
  }

  @Post("/submission")
  @RateLimiter(
      beforeSecurity = true,
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60))
  String submission() {
    return "in";
  }

  @Get("/both")
  @RateLimiter(beforeSecurity = true, rules = @RateRule(count = 3, time = 60))
  @RateLimiter(
      limitType = LimitType.GLOBAL,
      rules = @RateRule(count = 9, time = 60, name = "for-all"))
  String both() {
    return "in";
  }

  @Get("/behind")
  @RateRule(count = 3, time = 60)
  String behind() {
    return "in";
  }
}
