// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.subject.ClientAddress;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** However many limits of a request count by its address, the application is asked for it once. */
class AddressAskedOnceTest {

  private static final String SPEC = "AddressAskedOnceTest";

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void byAllLimitsOfARequest(boolean gate) {
    try (TestServer server = TestServer.start(SPEC, Map.of("limiter.gate.enabled", gate))) {
      AtomicInteger asked = server.bean(Address.class).asked;

      assertThat(server.get("/asked-once").statusCode()).isEqualTo(200);
      assertThat(asked).hasValue(1);
      assertThat(server.keys().all()).hasSizeGreaterThan(3);

      assertThat(server.get("/asked-once").statusCode()).isEqualTo(409);
      assertThat(asked).hasValue(2);
    }
  }

  /** Three that count by it, one of them for want of a user, a guard, and a bean's own limit. */
  @Controller("/asked-once")
  @ExecuteOn(TaskExecutors.BLOCKING) // the bean's method waits for its decision
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Inner inner;

    Routes(Inner inner) {
      this.inner = inner;
    }

    @Get
    @RateLimiter(
        key = "one",
        rules = @RateRule(count = 5, time = 60),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    @RateLimiter(key = "two", rules = @RateRule(count = 5, time = 60))
    @RateLimiter(
        key = "three",
        limitType = LimitType.USER_ID,
        rules = @RateRule(count = 5, time = 60))
    String get() {
      return inner.get();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Inner {
    @RateLimiter(limitType = LimitType.IP, rules = @RateRule(count = 5, time = 60))
    String get() {
      return "ok";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Address implements ClientAddress {

    private final AtomicInteger asked = new AtomicInteger();

    @Override
    public String of(HttpRequest<?> request) {
      asked.incrementAndGet();
      return "192.0.2.1";
    }
  }
}
