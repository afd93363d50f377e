// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;

/** Routes that ban: one call a minute; a caller that is denied twice is banned for an hour. */
@Controller("/bans")
@Requires(property = "spec.name", value = BanRoutes.SPEC)
class BanRoutes {

  static final String SPEC = "Bans";

  private static final String OK = "ok";

  @Get("/address")
  @RateLimiter(
      rules = @RateRule(count = 1),
      message = "One a minute",
      ban = @Ban(violations = 2, time = 3_600))
  String address() {
    return OK;
  }

  @Get("/user")
  @RateLimiter(
      key = "by-user",
      limitType = LimitType.USER_ID,
      rules = @RateRule(count = 1),
      ban = @Ban(violations = 2, time = 3_600))
  String user() {
    return OK;
  }

  @Get("/argument")
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 1),
      ban = @Ban(violations = 2, time = 3_600))
  String argument(@QueryValue String who) {
    return OK;
  }

  @Get("/strangers")
  @RateLimiter(
      header = "X-Api-Key",
      rules = @RateRule(count = 10),
      anonymousRules = @RateRule(count = 1),
      ban = @Ban(violations = 2, time = 3_600))
  String strangers() {
    return OK;
  }

  /** All clients together have two calls; exceeding that is no violation of a single client. */
  @Get("/everybody")
  @RateLimiter(
      rules = {@RateRule(count = 10), @RateRule(count = 2, limitType = LimitType.GLOBAL)},
      ban = @Ban(violations = 1, time = 3_600))
  String everybody() {
    return OK;
  }
}
