// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.Idempotent;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.serde.annotation.Serdeable;
import java.util.concurrent.TimeUnit;

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

  @Post("/payments")
  @RateLimiter(
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(time = 24, timeUnit = TimeUnit.HOURS),
      duplicate =
          @Duplicate(
              by = DuplicateBy.IDEMPOTENCY_KEY,
              releaseOn = {402, 500, 503}))
  HttpResponse<String> pay(@Body Order order) {
    return order.number() > 0
        ? HttpResponse.ok("paid")
        : HttpResponse.<String>status(HttpStatus.PAYMENT_REQUIRED).body("declined");
  }

  @Post("/transfers")
  @Idempotent(retain = "24h")
  @RateRule(count = 100)
  HttpResponse<Order> transfer(@Body Order order) {
    return HttpResponse.created(order);
  }
}
