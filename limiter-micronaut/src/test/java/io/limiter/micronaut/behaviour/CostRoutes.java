// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Routes whose calls cost more than one; ten a minute. */
@Controller("/costs")
@Requires(property = "spec.name", value = CostRoutes.SPEC)
class CostRoutes {

  static final String SPEC = "Costs";

  private static final String OK = "ok";

  @Get("/five")
  @RateLimiter(cost = "5", rules = @RateRule(count = 10))
  String five() {
    return OK;
  }

  @Get("/argument{?n}")
  @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10), message = "Wait {retryAfter}")
  String argument(@Nullable @QueryValue Integer n) {
    return OK;
  }

  @Get("/bucket{?n}")
  @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10, tokenBucket = @TokenBucket(refill = 1)))
  String bucket(@Nullable @QueryValue Integer n) {
    return OK;
  }

  @Post("/body")
  @RateLimiter(cost = "#{order.get('n')}", rules = @RateRule(count = 10))
  String body(@Body Map<String, Object> order) {
    return OK;
  }

  @Get("/look")
  @RateLimiter(key = "credits", rules = @RateRule(count = 10))
  String look() {
    return OK;
  }

  @Get("/export")
  @RateLimiter(key = "credits", cost = "8", rules = @RateRule(count = 10))
  String export() {
    return OK;
  }

  @Post("/order")
  @RateLimiter(
      cost = "4",
      rules = @RateRule(count = 10),
      preventDuplicate = true,
      duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS),
      preventDuplicateRule = @RateRule(count = 2, time = 60))
  String order(@Body Map<String, Object> order) {
    return OK;
  }
}
