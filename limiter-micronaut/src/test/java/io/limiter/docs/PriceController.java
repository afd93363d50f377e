// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller("/prices")
class PriceController {

  @Get
  @RateLimiter(value = "prices", limitType = LimitType.USER_ID, lease = "100ms")
  @RateRule(count = 10_000, time = 10) // of a user, who may send all of them at once
  String prices() {
    return "prices";
  }
}
