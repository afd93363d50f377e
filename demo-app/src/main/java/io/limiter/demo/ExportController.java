// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.time.Instant;
import java.util.Map;

/** Two exports a second; ten more wait for their turn, ten seconds at most. */
@Controller("/export")
class ExportController {

  @Post
  @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10, maxWait = 10))
  Map<String, String> export() {
    return Map.of("begun", Instant.now().toString());
  }
}
