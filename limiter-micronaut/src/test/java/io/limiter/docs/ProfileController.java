// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class ProfileController {

  @Get("/me")
  @RateLimiter(
      limitType = LimitType.USER_ID,
      rules = @RateRule(count = 3, time = 10),
      anonymousRules = @RateRule(count = 1, time = 10))
  String me() {
    return "me";
  }
}
