// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A quota that is replenished at each full minute of the clock. */
@Controller("/quota")
class QuotaController {

  @Get
  @RateRule(
      count = 30,
      time = 1,
      timeUnit = TimeUnit.MINUTES,
      fixedWindow = @FixedWindow(aligned = true))
  Map<String, Integer> use() {
    return Map.of("used", 1);
  }
}
