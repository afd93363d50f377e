// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.sse.Event;
import jakarta.inject.Singleton;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;

/** A stream of a thousand items, without a limit, with one of the call, and with one of items. */
@Controller(produces = MediaType.TEXT_EVENT_STREAM)
class StreamController {

  private static final int ITEMS = 1_000;

  @Get("/stream")
  Flux<Event<String>> stream() {
    return items();
  }

  @Get("/stream-call")
  @RateLimiter(
      limitType = LimitType.GLOBAL,
      rules = @RateRule(count = 1_000_000_000, time = 60, algorithm = Algorithm.FIXED_WINDOW))
  Flux<Event<String>> call() {
    return items();
  }

  @Get("/stream-items")
  @RateLimiter(
      limitType = LimitType.GLOBAL,
      cost = "100",
      resultCost = One.class,
      rules = @RateRule(count = 1_000_000_000, time = 60, algorithm = Algorithm.FIXED_WINDOW))
  Flux<Event<String>> limitedItems() {
    return items();
  }

  private static Flux<Event<String>> items() {
    return Flux.range(0, ITEMS).map(i -> Event.of("token"));
  }

  @Singleton
  static class One implements ResultCost {

    @Override
    public long of(@Nullable Object item) {
      return 1;
    }
  }
}
