// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;

@Controller
class NewsController {

  @Post("/passcodes")
  @RateLimiter(value = "passcodes", rules = @RateRule(count = 3, time = 60))
  String sendPasscode() {
    return "sent";
  }

  @Get("/news")
  @RateLimiter(value = "news", rules = @RateRule(count = 100, time = 60))
  String news() {
    return "no news";
  }
}
