// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.DuplicateSubmissionException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.context.ServerRequestContext;
import jakarta.inject.Singleton;
import java.math.BigDecimal;
import java.security.Principal;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Whose submission is whose, and which number is which. */
class SubmittersTest {

  @AutoClose
  private final ApplicationContext context =
      ApplicationContext.run(
          Map.of(
              "spec.name",
              "SubmittersTest",
              "redis.uri",
              RedisFixture.uri(),
              "limiter.redis.key-prefix",
              "test-" + UUID.randomUUID().toString().substring(0, 8)));

  private final Shop shop = context.getBean(Shop.class);

  @Test
  void methodsThatShareALimitDoNotShareTheirSubmissions() {
    shop.order("tea");
    shop.reserve("tea");

    assertDuplicate(() -> shop.order("tea"));
    assertDuplicate(() -> shop.reserve("tea"));
    assertThatExceptionOfType(RateLimitExceededException.class)
        .as("three calls of the limit that they share")
        .isThrownBy(
            () -> {
              shop.order("milk");
              shop.order("bread");
            });
  }

  @Test
  void whereAllAreCountedAsOneSubmissionsAreStillPerClient() {
    as("ann", shop::vote);
    as("bob", shop::vote);

    assertDuplicate(() -> as("ann", shop::vote));
    assertDuplicate(() -> as("bob", shop::vote));
  }

  @Test
  void aNumberIsTheSameHoweverItIsWritten() {
    shop.pay(new BigDecimal("10"));

    for (Number same : List.of(10, 10L, 10.0, new BigDecimal("10.00"), new BigDecimal("1e1"))) {
      assertThatExceptionOfType(RateLimitExceededException.class)
          .as(same.getClass() + " " + same)
          .isThrownBy(() -> shop.pay(same));
    }
    for (Number other :
        List.of(10.01, Double.NaN, new BigDecimal("1e2147483647"), new BigDecimal("1e400"))) {
      assertThatNoException().as(other.toString()).isThrownBy(() -> shop.pay(other));
    }
  }

  private static void as(String name, Runnable call) {
    HttpRequest<?> request = HttpRequest.POST("/votes", "");
    request.setAttribute(HttpAttributes.PRINCIPAL, principal(name));
    ServerRequestContext.with(request, call);
  }

  private static Principal principal(String name) {
    return () -> name;
  }

  private static void assertDuplicate(Runnable call) {
    assertThatExceptionOfType(DuplicateSubmissionException.class).isThrownBy(call::run);
  }

  @Singleton
  @Requires(property = "spec.name", value = "SubmittersTest")
  static class Shop {
    private static final String KEY = "shop";

    @RateLimiter(
        key = KEY,
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 3),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1),
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void order(String item) {}

    @RateLimiter(
        key = KEY,
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 3),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1),
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void reserve(String item) {}

    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 10),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1))
    void vote() {}

    @RateLimiter(subject = "#{amount}", rules = @RateRule(count = 1))
    void pay(Number amount) {}
  }
}
