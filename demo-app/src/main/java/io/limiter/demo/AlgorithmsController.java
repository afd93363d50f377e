// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.Map;

/** Four algorithms, each of which admits five calls in ten seconds in the long run. */
@Controller("/algorithms")
class AlgorithmsController {

  @Get("/log")
  @RateRule(count = 5, time = 10)
  Map<String, String> log() {
    return Map.of("by", "log");
  }

  @Get("/window")
  @RateRule(count = 5, time = 10, fixedWindow = @FixedWindow)
  Map<String, String> window() {
    return Map.of("by", "window");
  }

  @Get("/bucket")
  @RateRule(count = 5, time = 2, tokenBucket = @TokenBucket(refill = 1))
  Map<String, String> bucket() {
    return Map.of("by", "bucket");
  }

  @Get("/leaky")
  @RateRule(count = 5, time = 10, leakyBucket = @LeakyBucket(queue = 3, maxWait = 10))
  Map<String, String> leaky() {
    return Map.of("by", "leaky");
  }
}
