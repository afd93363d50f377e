// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import reactor.core.publisher.Flux;

/** Asynchronous and streamed results. */
@Controller
class ReportController {

  @Get("/reports")
  @RateRule(count = 5, time = 10)
  CompletionStage<Map<String, Integer>> report() {
    return CompletableFuture.supplyAsync(() -> Map.of("sold", 42));
  }

  @Get("/feed")
  @RateRule(count = 5, time = 10)
  Flux<Map<String, Integer>> feed() {
    return Flux.range(1, 3).map(number -> Map.of("item", number));
  }
}
