// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.MicronautVersion;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the compiler checks of limits, with Micronaut's processors. */
class ExpressionCompilationTest {

  @TempDir private Path output;

  @ParameterizedTest
  @ValueSource(strings = {"#{phone}", "#{order.customer}", "#{order.customer.length()}"})
  void anExpressionOverTheArgumentsCompiles(String expression) {
    assertThat(errors(expression)).isEmpty();
  }

  @Test
  void anUnknownParameterIsAnError() {
    assertThat(errors("#{fone}")).singleElement().asString().contains("fone");
  }

  @ParameterizedTest
  @ValueSource(strings = {"#{order.items}", "#{phone.length() * 2}"})
  void aCostOverTheArgumentsCompiles(String expression) {
    assertThat(errorsOf("cost", expression)).isEmpty();
  }

  @Test
  void anUnknownParameterInACostIsAnError() {
    assertThat(errorsOf("cost", "#{itens}")).singleElement().asString().contains("itens");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "#{status == 404}",
        "#{status >= 200 and status < 300 and order.items > 1}",
        "#{result != null and phone != '1'}",
        "#{result instanceof T(java.util.List)}"
      })
  void aConditionOnTheAnswerCompiles(String expression) {
    assertThat(errorsOf("countIf", expression)).isEmpty();
  }

  @Test
  void anUnknownNameInAConditionOnTheAnswerIsAnError() {
    assertThat(errorsOf("countIf", "#{statos == 404}"))
        .singleElement()
        .asString()
        .contains("statos");
  }

  @Test
  void otherMembersKnowNoAnswer() {
    assertThat(errorsOf("condition", "#{status == 404}"))
        .singleElement()
        .asString()
        .contains("status");
  }

  @Test
  void anUnknownPropertyIsAnError() {
    assertThat(errors("#{order.client}")).singleElement().asString().contains("client");
  }

  @Test
  void anInvalidExpressionIsAnError() {
    assertThat(errors("#{phone +}")).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"private", "final"})
  void aLimitOnAMethodThatCannotBeWovenIsAnError(String modifier) {
    assertThat(errorsOf(modifier, "subject", "#{phone}")).isNotEmpty();
  }

  /** Which is why the docs warn of it. */
  @Test
  void aLimitOnAStaticMethodCompilesInMicronaut4() {
    assertThat(errorsOf("static", "key", "codes"))
        .isEqualTo(
            MicronautVersion.either(
                List.of(), List.of("Method defines AOP advice but is declared static")));
  }

  private List<String> errors(String expression) {
    return errorsOf("subject", expression);
  }

  private List<String> errorsOf(String member, String expression) {
    return errorsOf("", member, expression);
  }

  private List<String> errorsOf(String modifier, String member, String expression) {
    String source =
        """
        package compiled;
        import io.limiter.micronaut.annotation.*;
        @jakarta.inject.Singleton
        class Sender {
          @RateLimiter(%s = "%s", rules = @RateRule)
          %s void send(String phone, Order order) {}
          record Order(String customer, int items) {}
        }
        """
            .formatted(member, expression, modifier);
    return Compilation.withMicronaut("compiled/Sender.java", source, output);
  }
}
