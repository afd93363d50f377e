// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.idempotency.Idempotent;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.util.Map;
import java.util.UUID;

/** One checkout per client in five seconds, whatever its content, unless it failed. */
@Controller("/checkout")
class CheckoutController {

  @Post
  @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.CALLER))
  HttpResponse<Map<String, Object>> checkOut(@Body Map<String, Object> cart) {
    if (Boolean.TRUE.equals(cart.get("fail"))) {
      throw new IllegalStateException("The payment did not go through");
    }
    return HttpResponse.created(Map.of("paid", true));
  }

  /** Runs once for each Idempotency-Key; a repetition receives the same payment. */
  @Post("/payment")
  @Idempotent
  @RateRule(count = 100, time = 10)
  HttpResponse<Map<String, Object>> pay(@Body Map<String, Object> cart) {
    return HttpResponse.created(Map.of("payment", UUID.randomUUID().toString()));
  }
}
