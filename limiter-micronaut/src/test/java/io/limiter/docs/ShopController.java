// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller("/shop")
@RateLimiter(rules = @RateRule(count = 100, time = 60)) // for each route by itself
@RateLimiter(key = "shop", rules = @RateRule(count = 150, time = 60)) // for all of them together
class ShopController {

  @Get("/items")
  String items() {
    return "items";
  }

  @Get("/status")
  @NoRateLimit
  String status() {
    return "up";
  }
}
