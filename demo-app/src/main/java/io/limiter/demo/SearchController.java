// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.List;

/**
 * Allows bursts, but no floods: a client that continues while it is denied is banned for half a
 * minute.
 */
@Controller("/search")
class SearchController {

  @Get
  @RateLimiter(
      value = "search",
      rules = @RateRule(count = 20, tokenBucket = @TokenBucket(refill = 5), time = 1),
      ban = @Ban(violations = 5, within = 10, time = 30))
  List<String> find() {
    return List.of("Sliding windows");
  }
}
