// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;

@Controller
class PasswordController {

  @Post("/passwords")
  @RateLimiter(
      subject = "#{user}",
      failedOn = 401,
      rules = @RateRule(count = 3, time = 60, counts = Counts.FAILURES))
  HttpResponse<String> check(@QueryValue String user, @QueryValue String password) {
    return password.equals("right")
        ? HttpResponse.ok("welcome " + user)
        : HttpResponse.<String>unauthorized().body("wrong");
  }
}
