// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import java.util.List;
import java.util.stream.IntStream;

@Controller
class QueryController {

  @Get("/queries")
  @RateLimiter(cost = "100", resultCost = Rows.class, rules = @RateRule(count = 1_000, time = 60))
  List<Integer> query(@QueryValue int until) {
    return IntStream.range(0, until).boxed().toList();
  }
}
