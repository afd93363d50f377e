// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;

@Controller
class PictureController {

  @Post("/pictures{?draft}")
  @RateLimiter(condition = "#{!draft}", rules = @RateRule(count = 5))
  String draw(@QueryValue boolean draft) {
    return "drawn";
  }
}
