// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.Map;

/** One decision for two subjects: the client, and all calls together. */
@Controller("/global")
class GlobalController {

  @Get
  @RateRule(count = 5, time = 1)
  @RateRule(count = 20, time = 1, limitType = LimitType.GLOBAL, name = "for-all")
  Map<String, String> answer() {
    return Map.of("for", "everybody");
  }
}
