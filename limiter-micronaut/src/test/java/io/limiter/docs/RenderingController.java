// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import reactor.core.publisher.Mono;

@Controller
class RenderingController {

  @Get("/renderings")
  @RateRule(count = 3, algorithm = Algorithm.CONCURRENCY_LIMIT)
  @RateRule(count = 100, time = 60)
  Mono<String> render() {
    return Mono.just("a picture");
  }
}
