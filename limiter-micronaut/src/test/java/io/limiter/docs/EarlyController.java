// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.util.Map;

@Controller("/early")
class EarlyController {

  @Post("/codes")
  @RateLimiter(early = true)
  @RateRule(count = 30) // of an address, by the gate
  @RateRule(count = 3, subject = "#{login.get('phone')}") // of a phone, by the guard
  String send(@Body Map<String, String> login) {
    return "sent";
  }
}
