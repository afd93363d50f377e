// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.exception.InvalidCallException.MissingSubjectException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.json.tree.JsonNode;
import jakarta.inject.Singleton;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The subject of a call, by an expression over its arguments. */
class ExpressionSubjectsTest {

  @AutoClose private final ApplicationContext context = Starts.inMemory("ExpressionSubjectsTest");
  private final Sender sender = context.getBean(Sender.class);

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"", " ", "\t\n"})
  void aCallWithoutASubjectIsDenied(@Nullable String phone) {
    assertMissing(
        () -> sender.toPhone(phone), "toPhone(java.lang.String)", "the call must provide a value");
  }

  @Test
  void aCallWhoseExpressionFailsIsRejected() {
    assertMissing(() -> sender.place(null), "place(" + Order.class.getName() + ")", "failed");
  }

  @Test
  void anObjectWhoseTextMayChangeIsRejected() {
    assertRejected(
        IllegalStateException.class,
        () -> sender.toObject(new Object()),
        "toObject(java.lang.Object)",
        "the expression gives a java.lang.Object, whose text may differ from call to call: it must be a text or a number");
  }

  @Test
  void aWrappedTextOrNumberCountsAsItsValue() {
    sender.toObject(Optional.of("555"));

    for (Object same : List.of("555", JsonNode.createStringNode("555"))) {
      assertDenied(() -> sender.toObject(same));
    }
    sender.toObject(JsonNode.createNumberNode(7));
    assertDenied(() -> sender.toObject(7.0));
    sender.toObject(URI.create("urn:phone:1"));
    assertDenied(() -> sender.toObject(URI.create("urn:phone:1")));
  }

  @Test
  void anEmptyWrapperIsAMissingSubject() {
    assertMissing(() -> sender.toObject(Optional.empty()), "toObject", "null");
    assertMissing(() -> sender.toObject(JsonNode.nullNode()), "toObject", "null");
    assertMissing(
        () -> sender.toObject(JsonNode.createObjectNode(Map.of())), "toObject", "a structure");
  }

  /** Each such call is a bad request, which is logged at debug level only. */
  @Test
  void aStructureIsReportedOnce() {
    try (RecordedLog log = RecordedLog.of(CallExpression.class)) {
      assertMissing(() -> sender.toObject(Map.of()), "toObject", "a structure");
      assertMissing(() -> sender.toObject(List.of(1)), "toObject", "a structure");
      assertThat(log.lines())
          .singleElement()
          .asString()
          .startsWith("WARN " + Sender.class.getName() + ".toObject(")
          .endsWith(
              "the expression gives a structure: it must be a text or a number, so the call is a bad request, as are further ones");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"IP", "USER_ID"})
  void subjectsOfRequestsAreNotCountedOutsideOfOne(String type) {
    assertRejected(
        IllegalStateException.class,
        type.equals("IP") ? sender::byAddress : sender::byUser,
        type.equals("IP") ? "byAddress()" : "byUser()",
        ": its calls are counted by limitType = %s, and it was called outside of an HTTP request, for example by a job, or by a client that is not used by a request: count all calls together with limitType = GLOBAL, or a subject of its own by an expression over the arguments, subject = \"#{…}\", or by a resolver that returns one from its resolveOutsideOfRequest()"
            .formatted(type.equals("IP") ? "IP, which is the default" : type));
  }

  private void assertMissing(Runnable call, String method, String remedy) {
    assertRejected(MissingSubjectException.class, call, method, remedy);
    assertThatThrownBy(call::run).hasMessageContaining("@RateLimiter.");
  }

  private void assertRejected(
      Class<? extends RuntimeException> type, Runnable call, String method, String remedy) {
    int before = sender.entered.get();
    assertThatExceptionOfType(type)
        .isThrownBy(call::run)
        .withMessageStartingWith(Sender.class.getName() + "." + method)
        .withMessageContaining(remedy);
    assertThat(sender.entered).hasValue(before);
  }

  private static void assertDenied(Runnable call) {
    assertThatExceptionOfType(RateLimitExceededException.class).isThrownBy(call::run);
  }

  record Order(String customer, String item) {}

  @Singleton
  @Requires(property = "spec.name", value = "ExpressionSubjectsTest")
  static class Sender {

    final AtomicInteger entered = new AtomicInteger();

    @RateLimiter(subject = "#{phone}", rules = @RateRule(count = 1))
    void toPhone(@Nullable String phone) {
      entered.incrementAndGet();
    }

    @RateLimiter(subject = "#{order.customer}", rules = @RateRule(count = 1))
    void place(@Nullable Order order) {
      entered.incrementAndGet();
    }

    @RateLimiter(subject = "#{object}", rules = @RateRule(count = 1))
    void toObject(Object object) {
      entered.incrementAndGet();
    }

    @RateRule(count = 1)
    void byAddress() {
      entered.incrementAndGet();
    }

    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
    void byUser() {
      entered.incrementAndGet();
    }
  }
}
