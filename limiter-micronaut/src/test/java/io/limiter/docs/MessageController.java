// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;

@Controller
class MessageController {

  @Post("/messages")
  @RateLimiter(subject = "#{to}", rules = @RateRule(count = 1, time = 60))
  String send(@QueryValue String to) {
    return "sent to " + to;
  }
}
