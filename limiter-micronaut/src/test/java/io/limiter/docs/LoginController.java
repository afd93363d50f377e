// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;

@Controller
class LoginController {

  @Post("/login")
  @RateLimiter(subject = "#{user}", rules = @RateRule(count = 3, time = 60))
  @RateLimiter(limitType = LimitType.IP, rules = @RateRule(count = 20, time = 60))
  String login(@QueryValue String user) {
    return "hello " + user;
  }
}
