// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;

@Controller
class SignInController {

  @Post("/sign-in")
  @RateLimiter(
      key = "sign-in",
      rules = @RateRule(count = 3, time = 60),
      ban = @Ban(violations = 5, within = 60, time = 900, growth = 2, longest = 86_400))
  String signIn() {
    return "signed in";
  }
}
