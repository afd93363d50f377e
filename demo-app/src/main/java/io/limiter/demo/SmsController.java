// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A limit on each requested phone number, whichever client calls. Codes cost money, so none is sent
 * while Redis is away: see {@code limiter.policies} in application.yml.
 */
@Controller("/sms")
class SmsController {

  @SuppressWarnings("limiter") // one client may write to many phones
  @Post("/code")
  @RateLimiter(
      value = "sms-code",
      subject = "#{phone}",
      rules = {
        @RateRule(count = 1, time = 1, timeUnit = TimeUnit.MINUTES),
        @RateRule(count = 10, time = 1, timeUnit = TimeUnit.HOURS)
      },
      message = "A code was sent a moment ago")
  Map<String, String> send(@QueryValue String phone) {
    return Map.of("sentTo", phone);
  }
}
