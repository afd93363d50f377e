// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.serde.annotation.Serdeable;

@Controller
class OrderController {

  @Serdeable
  record Order(int number, String item) {}

  @Post("/orders")
  @RateLimiter(rules = @RateRule(count = 100, time = 60), preventDuplicate = true)
  String place(@Body Order order) {
    return "placed";
  }

  @Post("/orders/numbered")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 60),
      duplicate = @Duplicate(key = "#{order.number}", message = "This order was placed already"))
  String placeNumbered(@Body Order order) {
    return "placed";
  }
}
