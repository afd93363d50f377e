// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.CountCondition;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.serde.annotation.Serdeable;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import org.jspecify.annotations.Nullable;

@Controller
class CountedAnswersController {

  @Serdeable
  record Quote(String symbol, boolean cached) {}

  @Get("/translations/{word}")
  @RateLimiter(
      countIf = "#{status == 404 and !word.startsWith('_')}",
      rules = @RateRule(count = 2, time = 60))
  HttpResponse<String> translate(String word) {
    return word.equals("tea") ? HttpResponse.ok("Tee") : HttpResponse.notFound();
  }

  @Get("/quotes/{symbol}")
  @RateLimiter(countIf = "misses", rules = @RateRule(count = 2, time = 60))
  Quote quote(String symbol) {
    return new Quote(symbol, symbol.equals("cached"));
  }

  @Singleton
  @Named("misses")
  static class Misses implements CountCondition {

    @Override
    public boolean counts(int status, @Nullable Object result) {
      return result instanceof Quote quote && !quote.cached();
    }
  }
}
