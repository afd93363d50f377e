// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.Map;

/** One subject with very many calls: an instance takes units of it in advance. */
@Controller("/hot")
class HotController {

  @Get
  @RateLimiter(value = "hot", limitType = LimitType.GLOBAL, lease = "100ms")
  @RateRule(count = 2_000, time = 10, fixedWindow = @FixedWindow)
  Map<String, String> answer() {
    return Map.of("for", "everybody");
  }
}
