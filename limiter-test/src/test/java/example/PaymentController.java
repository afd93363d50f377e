// SPDX-License-Identifier: Apache-2.0
package example;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.util.concurrent.TimeUnit;

@Controller("/payments")
class PaymentController {

  @Post
  @RateLimiter(
      header = "X-Api-Key",
      rules = {
        @RateRule(count = 3, time = 60),
        @RateRule(count = 50, time = 1, timeUnit = TimeUnit.HOURS),
        @RateRule(count = 100, time = 60, limitType = LimitType.IP)
      },
      preventDuplicate = true)
  String pay(@Body String payment) {
    return "paid";
  }
}
