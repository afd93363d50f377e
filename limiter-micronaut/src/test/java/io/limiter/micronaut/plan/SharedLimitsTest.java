// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Which methods are limited together. */
class SharedLimitsTest {

  @AutoClose private final ApplicationContext context = Starts.inMemory("SharedLimitsTest");

  @Test
  void overloadsAreLimitedSeparately() {
    First.Sender sender = context.getBean(First.Sender.class);

    assertThat(sender.send("a")).isEqualTo("first");
    assertThat(sender.send(1)).isEqualTo("first, by number");
    assertDenied(() -> sender.send("b"));
    assertDenied(() -> sender.send(2));
  }

  @Test
  void classesOfOneSimpleNameAreLimitedSeparately() {
    First.Sender first = context.getBean(First.Sender.class);
    Second.Sender second = context.getBean(Second.Sender.class);

    assertThat(first.send("a")).isEqualTo("first");
    assertThat(second.send("a")).isEqualTo("second");
    assertDenied(() -> first.send("b"));
    assertDenied(() -> second.send("b"));
  }

  @Test
  void methodsOfOneKeyShareOneCount() {
    First.Sender first = context.getBean(First.Sender.class);
    Second.Sender second = context.getBean(Second.Sender.class);

    first.shared();
    second.shared();

    assertDenied(first::shared);
    assertDenied(second::shared);
  }

  @Test
  void methodsOfOneKeyKeepTheirOwnNamesAndMessages() {
    First.Sender first = context.getBean(First.Sender.class);
    Second.Sender second = context.getBean(Second.Sender.class);
    first.shared();
    second.shared();

    assertThatExceptionOfType(RateLimitExceededException.class)
        .isThrownBy(first::shared)
        .satisfies(
            denied -> {
              assertThat(denied.verdict().policy().name()).isEqualTo("first-shared");
              assertThat(denied.text().message()).isEmpty();
            });
    assertThatExceptionOfType(RateLimitExceededException.class)
        .isThrownBy(second::shared)
        .satisfies(
            denied -> {
              assertThat(denied.verdict().policy().name()).endsWith("Second$Sender.shared()");
              assertThat(denied.text().message()).contains("Wait");
            });
  }

  private static void assertDenied(Runnable call) {
    assertThatExceptionOfType(RateLimitExceededException.class).isThrownBy(call::run);
  }

  static class First {
    @Singleton
    @Requires(property = "spec.name", value = "SharedLimitsTest")
    static class Sender {
      @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
      String send(String text) {
        return "first";
      }

      @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
      String send(int number) {
        return "first, by number";
      }

      @RateLimiter(
          value = "first-shared",
          key = "shared",
          limitType = LimitType.GLOBAL,
          rules = @RateRule(count = 2))
      void shared() {}
    }
  }

  static class Second {
    @Singleton
    @Requires(property = "spec.name", value = "SharedLimitsTest")
    static class Sender {
      @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
      String send(String text) {
        return "second";
      }

      @RateLimiter(
          key = "shared",
          message = "Wait",
          limitType = LimitType.GLOBAL,
          rules = @RateRule(count = 2))
      void shared() {}
    }
  }
}
