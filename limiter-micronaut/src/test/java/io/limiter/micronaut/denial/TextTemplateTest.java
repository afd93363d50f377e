// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TextTemplateTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "Wait {a} seconds|Wait <a> seconds",
        "{a}{b}|<a><b>",
        "it's {a}, ''really''|it's <a>, ''really''",
        "{{a}}|{a}",
        "{{{a}}}|{<a>}",
        "{a}}|<a>}",
        "}a}}|}a}",
        "待って ✋ {a}|待って ✋ <a>",
        "``|``"
      })
  void placeholdersAreFilledAndDoubledBracesAreBraces(String text, String filled) {
    assertThat(TextTemplate.parse(text).fill(name -> "<" + name + ">")).isEqualTo(filled);
  }

  @Test
  void filledInTextIsNotParsedAgain() {
    assertThat(TextTemplate.parse("{a} {b}").fill(name -> "{b}{{")).isEqualTo("{b}{{ {b}{{");
  }

  @Test
  void itKnowsItsPlaceholdersAndWhetherItIsOne() {
    assertThat(TextTemplate.parse("{a} and {b}").names()).containsExactly("a", "b");
    assertThat(TextTemplate.parse("{a.b}").only()).contains("a.b");
    assertThat(TextTemplate.parse("{a} ").only()).isEmpty();
    assertThat(TextTemplate.parse("a").only()).isEmpty();
    assertThat(TextTemplate.parse("{{a}}").only()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"ab{cd", "ab{", "ab{}", "ab{ }", "ab{c{d}"})
  void aBraceThatBeginsNoPlaceholderIsRejected(String text) {
    assertThatThrownBy(() -> TextTemplate.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "the brace at character 3 does not begin a placeholder: write {name}, or {{ for a brace");
  }
}
