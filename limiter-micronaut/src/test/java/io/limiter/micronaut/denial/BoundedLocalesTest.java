// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.context.ApplicationContext;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BoundedLocalesTest {

  private final ApplicationContext context =
      ApplicationContext.run(Map.of("micronaut.server.locale-resolution.default-locale", "en"));

  private final DenialMessages messages = context.getBean(DenialMessages.class);

  @AfterEach
  void stop() {
    context.close();
  }

  @Test
  void languageScriptAndRegionAreKept() {
    assertThat(bound("pt-BR")).hasToString("pt_BR");
    assertThat(bound("zh-Hant-HK")).isEqualTo(Locale.forLanguageTag("zh-Hant-HK"));
    assertThat(bound("de-AT-1901-u-co-phonebk")).hasToString("de_AT");
    assertThat(bound("de-AT-1901-u-co-phonebk")).hasToString("de_AT");
  }

  @Test
  void newLocalesAreNotStoredWithoutBound() {
    assertThat(bound("pt-BR")).hasToString("pt_BR");
    Set<Locale> asked = new HashSet<>();
    for (int i = 0; i < 10_000; i++) {
      asked.add(bound("x" + letter(i) + letter(i / 26) + "-" + number(i / 676)));
      asked.add(bound("fr-" + number(i % 1000)));
    }

    assertThat(asked).hasSizeLessThanOrEqualTo(DenialMessages.MOST_LOCALES + 2);
    assertThat(bound("pt-BR")).as("seen before").hasToString("pt_BR");
    assertThat(bound("it-CH")).as("too late, but a language").isEqualTo(Locale.ITALIAN);
    assertThat(bound("gsw-CH")).as("too late").isEqualTo(Locale.ENGLISH);
    assertThat(bound("zh-HK")).as("too late").isEqualTo(Locale.TRADITIONAL_CHINESE);
    assertThat(bound("zh-SG")).as("too late").isEqualTo(Locale.CHINESE);
  }

  private static String number(int i) {
    return String.format(Locale.ROOT, "%03d", i);
  }

  private static char letter(int i) {
    return (char) ('a' + i % 26);
  }

  private Locale bound(String tag) {
    return messages.bound(Locale.forLanguageTag(tag));
  }
}
