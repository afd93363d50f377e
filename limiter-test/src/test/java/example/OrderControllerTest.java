// SPDX-License-Identifier: Apache-2.0
package example;

import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

@LimitTest
class OrderControllerTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Inject Limits limits;
  @Inject TestClock clock;

  @Test
  void twoCallsAMinute() {
    Callable<?> list = () -> client.toBlocking().exchange("/orders");
    limits.assertAdmits(2, list).thenDenies().withStatus(429).withRetryAfter(Duration.ofMinutes(1));
    clock.advance(Duration.ofMinutes(1));
    limits.assertAdmits(1, list);
  }
}
