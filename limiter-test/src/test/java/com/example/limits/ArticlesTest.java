// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import jakarta.inject.Inject;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** The first test of the page. */
@LimitTest
class ArticlesTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Inject Limits limits;
  @Inject TestClock clock;

  @Test
  void tenCallsAMinute() {
    Callable<?> read = () -> client.toBlocking().exchange("/articles");
    limits
        .assertAdmits(10, read)
        .thenDenies()
        .withStatus(429)
        .withRetryAfter(Duration.ofMinutes(1));
    clock.advance(59_999_999, ChronoUnit.MICROS);
    limits.assertDenies(read);
    clock.advance(1, ChronoUnit.MICROS);
    limits.assertAdmits(1, read);
  }
}
