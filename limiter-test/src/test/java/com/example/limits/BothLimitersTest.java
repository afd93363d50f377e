// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import jakarta.inject.Inject;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** The limiter of Resilience4j, which has the name of our annotation, inside a limited method. */
@LimitTest
class BothLimitersTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Inject Limits limits;
  @Inject TestClock clock;
  @Inject RatesController rates;

  @Controller
  static class RatesController {

    private final RateLimiter bank =
        RateLimiter.of(
            "bank",
            RateLimiterConfig.custom()
                .limitForPeriod(4)
                .limitRefreshPeriod(Duration.ofDays(1))
                .timeoutDuration(Duration.ZERO)
                .build());

    @Get("/rates")
    @io.limiter.micronaut.annotation.RateLimiter(rules = @RateRule(count = 3, time = 60))
    String rates() {
      return bank.executeSupplier(() -> "1.08"); // a RateLimiter of Resilience4j
    }
  }

  @Test
  void thisLimiterDeniesFirstAndTakesNothingFromTheOther() {
    Callable<?> read = () -> client.toBlocking().exchange("/rates");

    limits.assertAdmits(3, read).thenDenies(5).withStatus(429);
    assertThat(rates.bank.getMetrics().getAvailablePermissions()).isEqualTo(1);

    clock.advance(1, ChronoUnit.MINUTES);
    limits.assertAdmits(1, read);
    assertThatThrownBy(() -> limits.assertAdmits(1, read))
        .isInstanceOfSatisfying(
            HttpClientResponseException.class, theirs -> assertThat(theirs.code()).isEqualTo(500));
  }
}
