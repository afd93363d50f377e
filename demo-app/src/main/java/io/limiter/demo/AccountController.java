// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.security.annotation.Secured;
import io.micronaut.security.rules.SecurityRule;
import java.security.Principal;
import java.util.Map;

/**
 * Counts wrong passwords before security checks them; further guesses are then denied without a
 * check. Right passwords are not counted.
 */
@Controller("/account")
@Secured(SecurityRule.IS_AUTHENTICATED)
class AccountController {

  @Get
  @RateLimiter(
      beforeSecurity = true,
      failedOn = 401,
      rules = @RateRule(count = 3, time = 10, counts = Counts.FAILURES))
  Map<String, String> account(Principal user) {
    return Map.of("owner", user.getName());
  }
}
