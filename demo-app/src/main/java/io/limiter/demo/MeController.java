// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.security.annotation.Secured;
import io.micronaut.security.rules.SecurityRule;
import java.security.Principal;
import java.util.Map;

/**
 * Each user has a separate limit, from any address. Security runs before the limiter: a call that
 * it answers with 401 has no user and is not counted, so this does not limit password guessing;
 * {@link AccountController} does.
 */
@Controller("/me")
@Secured(SecurityRule.IS_AUTHENTICATED)
class MeController {

  @Get
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 3, time = 10))
  Map<String, String> me(Principal user) {
    return Map.of("name", user.getName());
  }
}
