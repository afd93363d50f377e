// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.time.Duration;
import java.util.Map;
import reactor.core.publisher.Mono;

/** Takes two seconds, without blocking a thread; at most three calls of a client at once. */
@Controller("/slow")
class SlowController {

  private static final Duration TIME = Duration.ofSeconds(2);

  @Get
  @RateRule(count = 3, algorithm = Algorithm.CONCURRENCY_LIMIT)
  Mono<Map<String, String>> slow() {
    return Mono.just(Map.of("took", TIME.toSeconds() + " s")).delayElement(TIME);
  }
}
