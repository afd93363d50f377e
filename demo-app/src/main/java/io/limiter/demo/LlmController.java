// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.core.Verdict;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.BudgetEnd;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.StreamBudget;
import io.limiter.micronaut.annotation.StreamEnd;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.sse.Event;
import jakarta.inject.Singleton;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;

/**
 * A gateway to a language model: requests and tokens of an API key, and tokens of a model, in one
 * decision. A stream takes its tokens while it runs, and ends when they are used up.
 */
@Controller("/llm")
class LlmController {

  private static final String[] WORDS = {"so ", "it ", "goes "};
  private static final Duration THINKING = Duration.ofMillis(5);

  enum Model {
    SMALL,
    LARGE
  }

  // In this demo the keys are not verified, so a new key has a new limit. A real service must
  // verify them.
  @SuppressWarnings("limiter")
  @Post(produces = MediaType.TEXT_EVENT_STREAM)
  @RateLimiter(header = "X-Api-Key", rules = @RateRule(count = 30, time = 60))
  @RateLimiter(
      key = "tokens",
      header = "X-Api-Key",
      cost = "20",
      resultCost = OneForEachToken.class,
      stream = @StreamBudget(end = StreamEnd.CUT),
      rules = {
        @RateRule(count = 200, time = 60, name = "tokens-per-minute"),
        @RateRule(
            count = 10_000,
            name = "tokens-per-month",
            fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH)),
        @RateRule(
            count = 5_000,
            time = 60,
            name = "tokens-of-model",
            subject = "#{model}",
            algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
      })
  Flux<Event<String>> complete(@QueryValue Model model, @QueryValue int tokens) {
    return Flux.range(0, tokens)
        .delayElements(THINKING)
        .map(i -> Event.of(WORDS[i % WORDS.length]));
  }

  /** The fake model sends a token in each event. */
  @Singleton
  static class OneForEachToken implements ResultCost {

    @Override
    public long of(@Nullable Object item) {
      return 1;
    }
  }

  /** The last event of a stream that is cut. */
  @Singleton
  static class OutOfTokens implements BudgetEnd<Event<String>> {

    @Override
    public Event<String> last(Verdict denied) {
      return Event.of(
          "[out of tokens: %s]"
              .formatted(denied.denying().map(rule -> rule.rule().name()).orElse("")));
    }
  }
}
