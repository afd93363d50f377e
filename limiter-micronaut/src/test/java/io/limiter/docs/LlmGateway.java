// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.StreamBudget;
import io.limiter.micronaut.annotation.StreamEnd;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.sse.Event;
import reactor.core.publisher.Flux;

@Controller
class LlmGateway {

  enum Model {
    SMALL,
    LARGE
  }

  @Post(uri = "/completions", produces = MediaType.TEXT_EVENT_STREAM)
  @RateLimiter(
      value = "requests",
      header = "X-Api-Key",
      anonymous = Anonymous.REJECT,
      rules = @RateRule(count = 60, time = 60))
  @RateLimiter(
      value = "tokens",
      header = "X-Api-Key",
      anonymous = Anonymous.REJECT,
      cost = "100",
      resultCost = Tokens.class,
      stream = @StreamBudget(end = StreamEnd.CUT),
      rules = {
        @RateRule(count = 600, time = 60, algorithm = Algorithm.SLIDING_WINDOW_COUNTER),
        @RateRule(count = 100_000, fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH)),
        @RateRule(
            count = 5_000,
            time = 60,
            subject = "#{model}",
            algorithm = Algorithm.FIXED_WINDOW)
      })
  Flux<Event<String>> complete(@QueryValue Model model, @QueryValue int words) {
    return Flux.range(0, words).map(i -> Event.of("word ")); // of the model
  }
}
