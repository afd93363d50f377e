// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import java.util.List;
import java.util.stream.IntStream;

/** A call costs as many units as the number of items that it requests. */
@Controller("/items")
class ItemController {

  @Get
  @RateLimiter(
      cost = "#{n}",
      rules = @RateRule(count = 100, time = 10, algorithm = Algorithm.SLIDING_WINDOW_COUNTER))
  List<Integer> list(@QueryValue int n) {
    return IntStream.rangeClosed(1, n).boxed().toList();
  }
}
