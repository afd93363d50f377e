// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import static io.limiter.micronaut.testing.Sources.yaml;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** An unusable message or template stops the start, with the property, the value and the remedy. */
class DenialMistakesTest {

  @ParameterizedTest
  @CsvSource({
    "message",
    "banned-message",
    "too-costly-message",
    "duplicate-message",
    "unavailable-message"
  })
  void anUnusableMessage(String property) {
    String name = "limiter.denial." + property;

    assertThat(Starts.mistake(Map.of(name, "Wait {seconds}")))
        .hasMessageStartingWith(
            name + " = Wait {seconds}: unknown argument {seconds}: use {code}, ")
        .hasMessageEndingWith("{path}, {method}, or write {{ for a brace");
    assertThat(Starts.mistake(Map.of(name, "{missing.text}")))
        .hasMessageStartingWith(
            name
                + " = {missing.text}: no message source has a message 'missing.text' in any language: add it to a bundle of the application, or write a text");
  }

  static Stream<Arguments> templates() {
    return Stream.of(
        arguments(
            "{msg: \"{messages}\"}",
            "limiter.denial.template.msg = {messages}: unknown placeholder {messages}: use {code}, {message}, {status}, {title}, {policy}, {violated}, {retryAfter}, {banned}, {limit}, {remaining}, {window}, {reset}, {path}, {method}, {timestamp}, or write {{ for a brace"),
        arguments(
            "{data: {rows: [1, {wait: \"in {wait} s\"}]}}",
            "limiter.denial.template.data.rows[1].wait = in {wait} s: unknown placeholder {wait}: use {code},"),
        arguments(
            "{data: \"{message\"}",
            "limiter.denial.template.data = {message: the brace at character 1 does not begin a placeholder: write {name}, or {{ for a brace"),
        arguments(
            "{}",
            "limiter.denial.body = template: no fields are configured under limiter.denial.template: write the fields of the body there, such as limiter.denial.template.code = {code}"));
  }

  @ParameterizedTest
  @MethodSource("templates")
  void aTemplateThatCannotBeFilled(String template, String mistake) {
    assertThat(
            Starts.mistake(
                yaml("limiter: {denial: {body: template, template: %s}}".formatted(template))))
        .hasMessageContaining(mistake);
  }

  @Test
  void numbersOfABodyThatHasNone() {
    assertThat(Starts.mistake(Map.of("limiter.denial.numbers", "true")))
        .hasMessageContaining(
            "limiter.denial.numbers = true: only limiter.denial.body = problem has them by itself");
  }

  @Test
  void aTemplateThatIsNotThere() {
    assertThat(Starts.mistake(Map.of("limiter.denial.body", "template")))
        .hasMessageContaining(
            "limiter.denial.body = template: no fields are configured under limiter.denial.template");
  }

  @ParameterizedTest
  @CsvSource({"application", "problem"})
  void aTemplateThatIsNotUsed(String body) {
    assertThat(
            Starts.mistake(
                yaml("limiter: {denial: {body: %s, template: {msg: x}}}".formatted(body))))
        .hasMessageContaining(
            "limiter.denial.template = {msg=x}: it is used only where limiter.denial.body = template: set that, or remove the template");
  }

  @Test
  void usableMessagesAreAccepted() {
    Map<String, Object> settings =
        yaml(
            """
            limiter:
              denial:
                message: "Wait {retryAfter} s {{really}}"
                duplicate-message: "{limiter.duplicate}"
                unavailable-message: "{path}"
                body: template
                template: {a: "{{code}}", b: "{code}"}
            """);
    assertThatNoException().isThrownBy(() -> ApplicationContext.run(settings).close());
  }
}
