// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

@Controller
class PartnerController {

  @Get("/partners")
  @RateLimiter(
      header = "X-Api-Key",
      rules = @RateRule(count = 5, time = 10),
      anonymousRules = @RateRule(count = 2, time = 10))
  String partners() {
    return "welcome";
  }
}
