// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.util.Map;

/** The same order is not taken twice. */
@Controller("/orders")
class OrderController {

  @Post
  @RateLimiter(
      rules = @RateRule(count = 5, time = 10),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 5),
      duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
  HttpResponse<Map<String, Object>> place(@Body Map<String, Object> order) {
    return HttpResponse.created(Map.of("accepted", order));
  }
}
