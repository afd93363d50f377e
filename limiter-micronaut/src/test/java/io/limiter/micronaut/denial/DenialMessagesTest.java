// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micronaut.context.AbstractMessageSource;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.MessageSource;
import io.micronaut.context.StaticMessageSource;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.i18n.ResourceBundleMessageSource;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpRequest;
import io.micronaut.http.server.util.locale.CompositeHttpLocaleResolver;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import io.micronaut.http.server.util.locale.HttpLocaleResolver;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rendering of messages: a text, or a key in a bundle of the application or the limiter. */
class DenialMessagesTest {

  static final String BUNDLES = "test.bundles";
  private static final String OTHERWISE = "{limiter.rate-limited}";
  private static final Map<String, Object> ARGUMENTS =
      Map.of("retryAfter", "7", "path", "/{code}", "code", "");

  /** The bundles of an application: a key of ours, a key in German only, a key with arguments. */
  @Factory
  @Requires(property = BUNDLES)
  static class Bundles {
    @Singleton
    MessageSource texts() {
      return new ResourceBundleMessageSource("denials.app", Locale.ROOT);
    }
  }

  private final Locale machine = Locale.getDefault();
  private ApplicationContext context;
  private DenialMessages messages;

  @BeforeEach
  void start() {
    Locale.setDefault(Locale.US);
    context =
        ApplicationContext.run(
            Map.of(BUNDLES, true, "micronaut.server.locale-resolution.default-locale", "en"));
    messages = context.getBean(DenialMessages.class);
  }

  @AfterEach
  void stop() {
    context.close();
    Locale.setDefault(machine);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "Plain, it's all|en|Plain, it's all",
        "Wait {retryAfter} s, it's {path}|en|Wait 7 s, it's /{code}",
        "{retryAfter}|en|7",
        "[{code}]|en|[]",
        "{{retryAfter}}|en|{retryAfter}",
        "{{{retryAfter}}}|en|{7}",
        "}{retryAfter}}|en|}7}",
        "it's ''{retryAfter}''|en|it's ''7''",
        "待って ✋ {retryAfter}{retryAfter}|en|待って ✋ 77",
        "{limiter.rate-limited}|en|Too many requests, try again later",
        "{limiter.rate-limited}|zh|请求过于频繁，请稍后再试",
        "{limiter.duplicate}|en|We have this one",
        "{limiter.duplicate}|de|Das haben wir schon",
        "{sms.limited}|de-AT|Code kommt gleich, warte 7 s",
        "{sms.limited}|en|Too many requests, try again later",
        "{sms.limited}|zh|请求过于频繁，请稍后再试",
        "{sms.arguments}|fr|It's 7 s for /{code}nothing"
      })
  void theMessageIsInTheLanguageOfTheRequest(String message, String language, String expected) {
    assertThat(render(message, language)).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(strings = {";", ",", ";;q=1", "*", "xx-!!", "-", "zz"})
  void anInvalidLanguageGetsTheDefaultMessage(String language) {
    assertThat(render("{limiter.rate-limited}", language))
        .isEqualTo("Too many requests, try again later");
  }

  @Test
  void newLanguagesAreNotStoredWithoutBound() {
    Set<Locale> asked = ConcurrentHashMap.newKeySet();
    MessageSource recording =
        new StaticMessageSource() {
          @Override
          public Optional<String> getRawMessage(String code, MessageContext context) {
            asked.add(context.getLocale());
            return Optional.of("text");
          }
        };
    DenialMessages listened =
        new DenialMessages(
            recording,
            List.of(recording),
            context.getBean(CompositeHttpLocaleResolver.class),
            context.getBeansOfType(HttpLocaleResolver.class),
            context.getBean(HttpLocaleResolutionConfiguration.class));
    for (int i = 0; i < 2_000; i++) {
      HttpRequest<?> request = HttpRequest.GET("/").header("Accept-Language", "en-x-" + i);
      listened.render(OTHERWISE, OTHERWISE, request, Map::of);
      request = HttpRequest.GET("/").header("Accept-Language", "de-" + (100 + i % 900));
      listened.render(OTHERWISE, OTHERWISE, request, Map::of);
    }

    assertThat(asked).hasSizeLessThan(600).contains(Locale.ENGLISH, Locale.GERMAN);
  }

  @Test
  void aTextOfTheApplicationsOwnSourceMayChange() {
    MessageSource changing =
        new AbstractMessageSource() {
          private int calls;

          @Override
          public Optional<String> getRawMessage(String code, MessageContext context) {
            return Optional.of("text " + ++calls);
          }
        };
    DenialMessages rendered =
        new DenialMessages(
            changing,
            List.of(changing),
            context.getBean(CompositeHttpLocaleResolver.class),
            context.getBeansOfType(HttpLocaleResolver.class),
            context.getBean(HttpLocaleResolutionConfiguration.class));

    assertThat(rendered.render("{any}", OTHERWISE, HttpRequest.GET("/"), Map::of))
        .isEqualTo("text 1");
    assertThat(rendered.render("{any}", OTHERWISE, HttpRequest.GET("/"), Map::of))
        .isEqualTo("text 2");
  }

  @Test
  void argumentsAreNotAskedWhereThereAreNone() {
    assertThat(
            messages.render(
                "{limiter.rate-limited}",
                OTHERWISE,
                HttpRequest.GET("/"),
                () -> {
                  throw new AssertionError("asked");
                }))
        .isEqualTo("Too many requests, try again later");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Text",
        "{retryAfter}",
        "{code} {policy} {violated} {retryAfter} {limit} {remaining} {window} {path} {method}",
        "{{seconds}} }",
        "{limiter.duplicate}",
        "{sms.limited}"
      })
  void textsArgumentsAndKeysThatAreInAnyLanguageAreUsable(String message) {
    assertThatNoException().isThrownBy(() -> messages.requireUsable(message));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "''|it is empty: write a text, or leave it out",
        "' '|it is empty: write a text, or leave it out",
        "Wait {seconds}|unknown argument {seconds}: use {code}, {policy}, {violated}, {retryAfter}, {banned}, {limit}, {remaining}, {window}, {path}, {method}, or write {{ for a brace",
        "{sms.none}|no message source has a message 'sms.none' in any language: add it to a bundle of the application, or write a text, which may have the arguments {code}, {policy},",
        "{limiter.duplicate}!|unknown argument {limiter.duplicate}: use",
        "Wait {|does not begin a placeholder: write {name}, or {{ for a brace",
        "ab{}|the brace at character 3 does not begin a placeholder",
        "ab{ }|the brace at character 3 does not begin a placeholder",
        "ab{c{d}|the brace at character 3 does not begin a placeholder"
      })
  void unusableMessagesAreRejectedWithTheRemedy(String message, String remedy) {
    assertThatThrownBy(() -> messages.requireUsable(message))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(remedy);
  }

  private String render(String message, String language) {
    MutableHttpRequest<?> request = HttpRequest.GET("/").header("Accept-Language", language);
    return messages.render(message, OTHERWISE, request, () -> ARGUMENTS);
  }
}
