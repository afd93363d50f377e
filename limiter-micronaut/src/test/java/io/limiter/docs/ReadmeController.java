// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.serde.annotation.Serdeable;
import java.util.concurrent.TimeUnit;

/** The first thing that the README shows. */
@Controller("/readme")
class ReadmeController {

  @Serdeable
  record NewOrder(String item) {}

  @Serdeable
  record Order(String item) {}

  @Post("/sms")
  @RateRule(count = 1, time = 60) // once a minute
  @RateRule(count = 10, time = 1, timeUnit = TimeUnit.HOURS) // and ten times an hour
  HttpResponse<?> sendCode(String phone) {
    return HttpResponse.ok();
  }

  @Post("/orders")
  @RateLimiter(
      limitType = LimitType.USER_ID,
      rules = {@RateRule(count = 10, time = 60), @RateRule(count = 100, time = 3600)},
      preventDuplicate = true) // and not the same twice
  Order place(@Body NewOrder order) {
    return new Order(order.item());
  }
}
