// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;

/** One call in an hour from each address: the second and all after it are denied. */
@Controller(produces = MediaType.TEXT_PLAIN)
class DeniedController {

  @Get("/denied")
  @RateLimiter(value = "denied", rules = @RateRule(count = 1, time = 3_600))
  String denied() {
    return "the first";
  }

  /** Redis is asked each time: see {@link BenchmarkService}. */
  @Get("/denied-uncached")
  @RateLimiter(value = "denied-uncached", rules = @RateRule(count = 1, time = 3_600))
  String deniedUncached() {
    return "the first";
  }
}
