// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;

@Controller
class ExportController {

  @Get("/exports")
  @RateLimiter(key = "credits", cost = "#{rows}", rules = @RateRule(count = 1_000, time = 60))
  String export(@QueryValue int rows) {
    return rows + " rows";
  }
}
