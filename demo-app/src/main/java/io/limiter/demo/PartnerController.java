// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.List;

/** Who names himself in a header gets more than a stranger, who is counted by his address. */
@Controller("/partners")
class PartnerController {

  // A demo: nothing checks the keys, so a new one is a new limit. A service has to know its keys.
  @Get
  @RateLimiter(
      header = "X-Api-Key",
      rules = @RateRule(count = 5, time = 10),
      anonymousRules = @RateRule(count = 2, time = 10))
  List<String> list() {
    return List.of("Harbour Tea", "Mill & Sons");
  }
}
