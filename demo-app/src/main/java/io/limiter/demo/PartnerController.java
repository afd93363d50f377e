// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.List;

/**
 * Clients with an API key in a header have a higher limit than others, which are counted by
 * address.
 */
@Controller("/partners")
class PartnerController {

  // In this demo the keys are not verified, so a new key has a new limit. A real service must
  // verify them.
  @SuppressWarnings("limiter")
  @Get
  @RateLimiter(
      header = "X-Api-Key",
      rules = @RateRule(count = 5, time = 10),
      anonymousRules = @RateRule(count = 2, time = 10))
  List<String> list() {
    return List.of("Harbour Tea", "Mill & Sons");
  }
}
