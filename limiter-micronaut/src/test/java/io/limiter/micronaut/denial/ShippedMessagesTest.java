// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.context.ApplicationContext;
import io.micronaut.context.MessageSource;
import io.micronaut.context.MessageSource.MessageContext;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The language of the limiter's own messages. */
class ShippedMessagesTest {

  private static final String ENGLISH = "This request was already submitted";
  private static final String SIMPLIFIED = "请勿重复提交";
  private static final String TRADITIONAL = "請勿重複提交";
  private static final String DEFAULT_LOCALE = "micronaut.server.locale-resolution.default-locale";

  private final Locale machine = Locale.getDefault();

  @AfterEach
  void restore() {
    Locale.setDefault(machine);
  }

  @ParameterizedTest
  @CsvSource({
    "en," + ENGLISH,
    "en-GB," + ENGLISH,
    "zh," + SIMPLIFIED,
    "zh-CN," + SIMPLIFIED,
    "zh-SG," + SIMPLIFIED,
    "zh-Hans-TW," + SIMPLIFIED,
    "zh-TW," + TRADITIONAL,
    "zh-HK," + TRADITIONAL,
    "zh-Hant," + TRADITIONAL,
    "fr," + ENGLISH,
    "und," + ENGLISH
  })
  void theLanguageOfTheRequestDecidesAndOthersUseEnglish(String tag, String expected) {
    assertThat(message("en", tag)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({
    "zh-CN,en," + ENGLISH,
    "zh-CN,fr," + SIMPLIFIED,
    "zh-TW,fr," + TRADITIONAL,
    "de,fr," + ENGLISH
  })
  void otherLanguagesUseTheDefaultOneOfTheApplication(
      String application, String tag, String expected) {
    assertThat(message(application, tag)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"en," + ENGLISH, "fr," + ENGLISH, "zh," + SIMPLIFIED})
  void theLanguageOfTheMachineChangesNothing(String tag, String expected) {
    Locale.setDefault(Locale.SIMPLIFIED_CHINESE);
    assertThat(message("en", tag)).isEqualTo(expected);

    Locale.setDefault(Locale.US);
    assertThat(message("en", tag)).isEqualTo(expected);
  }

  @Test
  void theLanguageOfTheMachineIsTheApplicationsDefault() {
    Locale.setDefault(Locale.SIMPLIFIED_CHINESE);
    try (ApplicationContext context = ApplicationContext.run()) {
      assertThat(message(context, "en")).isEqualTo(ENGLISH);
      assertThat(message(context, "fr")).isEqualTo(SIMPLIFIED);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"messages_zh.properties", "messages_zh_TW.properties"})
  void everyLanguageHasEveryMessage(String file) throws IOException {
    Properties english = messages("messages.properties");
    Properties chinese = messages(file);
    assertThat(english.stringPropertyNames())
        .hasSize(11)
        .allMatch(key -> key.startsWith("limiter."))
        .isEqualTo(chinese.stringPropertyNames());
    assertThat(chinese)
        .allSatisfy(
            (key, text) -> assertThat((String) text).as("%s", key).matches(".*\\p{IsHan}.*"));
  }

  @Test
  void itKnowsNoOtherKeys() {
    try (ApplicationContext context = ApplicationContext.run()) {
      assertThat(
              context
                  .getBean(MessageSource.class)
                  .getRawMessage("429.error.title", MessageContext.of(Locale.ENGLISH)))
          .isEmpty();
    }
  }

  private static Properties messages(String file) throws IOException {
    Properties messages = new Properties();
    try (InputStream stream =
        ShippedMessagesTest.class.getResourceAsStream("/io/limiter/micronaut/" + file)) {
      messages.load(new InputStreamReader(stream, StandardCharsets.UTF_8));
    }
    return messages;
  }

  private static String message(String application, String tag) {
    try (ApplicationContext context = ApplicationContext.run(Map.of(DEFAULT_LOCALE, application))) {
      return message(context, tag);
    }
  }

  private static String message(ApplicationContext context, String tag) {
    return context
        .getBean(MessageSource.class)
        .getMessage("limiter.duplicate", Locale.forLanguageTag(tag))
        .orElseThrow();
  }
}
