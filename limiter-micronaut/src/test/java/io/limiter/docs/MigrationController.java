// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

/** What the pages for those who come from elsewhere show. */
@Controller("/moved")
class MigrationController {

  // Bucket4j
  @Get("/search")
  @RateRule(count = 20, time = 1, tokenBucket = @TokenBucket(refill = 5))
  @RateRule(count = 1_000, time = 3600)
  String search() {
    return "found";
  }

  // The starter
  @Get("/catalogue")
  String catalogue() {
    return "tea";
  }

  // Resilience4j
  @Get("/quotes")
  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 10, time = 1))
  String quotes() {
    return "quoted";
  }

  // RateLimitJ
  @Get("/calls")
  @RateRule(count = 10, time = 1)
  @RateRule(count = 240, time = 3600)
  String calls() {
    return "called";
  }

  // express-rate-limit
  @Get("/pages")
  @RateRule(count = 100, time = 900, algorithm = Algorithm.FIXED_WINDOW)
  String page() {
    return "page";
  }
}
