// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.limiter.core.Charge;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.CallerBannedException;
import io.limiter.micronaut.exception.InvalidCallException.InvalidCostException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.RecordedDecisions;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.json.tree.JsonNode;
import jakarta.inject.Singleton;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.NullSource;

/** What a call costs, by an expression over its arguments. */
class ExpressionCostsTest {

  @AutoClose private final ApplicationContext context = Starts.recorded("ExpressionCostsTest");
  private final Exports exports = context.getBean(Exports.class);

  static Stream<Object> threes() {
    return Stream.of(
        3,
        3L,
        (short) 3,
        3.0,
        new AtomicLong(3),
        new BigDecimal("0.3e1"),
        BigInteger.valueOf(3),
        Optional.of(3),
        JsonNode.createNumberNode(3));
  }

  @ParameterizedTest
  @MethodSource("threes")
  void aNumberIsTheCostHoweverItIsHeld(Object three) {
    exports.rows(three);

    assertThat(costs()).containsExactly(3);
  }

  static Stream<Object> noCosts() {
    return Stream.of(
        0,
        -1,
        Integer.MIN_VALUE,
        Charge.MAX_COST + 1,
        (1L << 32) + 1,
        1.5,
        Double.MIN_VALUE,
        Double.NaN,
        Double.POSITIVE_INFINITY,
        new BigDecimal("1e999999999"),
        new BigDecimal("1e-999999999"),
        BigInteger.ONE.shiftLeft(100_000),
        "3",
        "",
        true,
        'c',
        List.of(3),
        Optional.empty(),
        JsonNode.nullNode(),
        JsonNode.createStringNode("3"),
        JsonNode.createObjectNode(Map.of()),
        new Object());
  }

  @ParameterizedTest
  @NullSource
  @MethodSource("noCosts")
  void anInvalidCostIsRejectedBeforeAnythingIsCounted(@Nullable Object cost) {
    assertThatExceptionOfType(InvalidCostException.class)
        .isThrownBy(() -> exports.rows(cost))
        .withMessageStartingWith(
            Exports.class.getName() + ".rows(java.lang.Object): @RateLimiter.cost: the expression")
        .withMessageContaining("it must be a whole number from 1 to 1000000");
    assertThat(costs()).isEmpty();
    assertThat(exports.entered).hasValue(0);
  }

  @Test
  void anExpressionThatFailsIsRejected() {
    assertThatExceptionOfType(InvalidCostException.class)
        .isThrownBy(() -> exports.list(null))
        .withMessageContaining("@RateLimiter.cost: the expression failed");
    assertThat(costs()).isEmpty();
  }

  @Test
  void oneCostIsTakenFromEachSubjectAndAskedForOnce() {
    AtomicInteger asked = new AtomicInteger();

    exports.metered(
        () -> {
          asked.incrementAndGet();
          return 4;
        });

    assertThat(costs()).containsExactly(4, 4);
    assertThat(asked).hasValue(1);
  }

  @Test
  void codeThatHandlesExceededLimitsAlsoHandlesBans() {
    exports.banned();
    exports.denied(exports::banned);

    assertThatExceptionOfType(CallerBannedException.class)
        .isThrownBy(exports::banned)
        .isInstanceOf(RateLimitExceededException.class)
        .satisfies(
            banned -> {
              assertThat(banned.ban())
                  .isBetween(Duration.ofSeconds(3_500), Duration.ofSeconds(3_600));
              assertThat(banned.verdict().ban()).contains(banned.ban());
              assertThat(banned.getMessage())
                  .startsWith("The subject is banned for another PT")
                  .contains("since the limit of 'logins' has denied it too often");
            });
  }

  private List<Integer> costs() {
    return context.getBean(RecordedDecisions.class).requests().stream()
        .flatMap(request -> request.charges().stream())
        .map(Charge::cost)
        .toList();
  }

  /** What a call costs, so that a test sees who asks. */
  public interface Meter {
    int units();
  }

  @Singleton
  @Requires(property = "spec.name", value = "ExpressionCostsTest")
  static class Exports {

    final AtomicInteger entered = new AtomicInteger();

    @RateLimiter(subject = "#{'all'}", cost = "#{rows}", rules = @RateRule(count = 100))
    void rows(@Nullable Object rows) {
      entered.incrementAndGet();
    }

    @RateLimiter(subject = "#{'all'}", cost = "#{rows.size()}", rules = @RateRule(count = 100))
    void list(@Nullable List<Integer> rows) {
      entered.incrementAndGet();
    }

    @RateLimiter(
        subject = "#{'all'}",
        cost = "#{meter.units()}",
        rules = {@RateRule(count = 100), @RateRule(count = 100, limitType = LimitType.GLOBAL)})
    void metered(Meter meter) {
      entered.incrementAndGet();
    }

    @RateLimiter(
        value = "logins",
        subject = "#{'all'}",
        rules = @RateRule(count = 1),
        ban = @Ban(violations = 2, time = 3_600))
    void banned() {
      entered.incrementAndGet();
    }

    void denied(Runnable call) {
      try {
        call.run();
        throw new AssertionError("It was not denied");
      } catch (CallerBannedException tooEarly) {
        throw new AssertionError("It is the first denial", tooEarly);
      } catch (RateLimitExceededException expected) {
        // As a caller that does not distinguish bans.
      }
    }
  }
}
