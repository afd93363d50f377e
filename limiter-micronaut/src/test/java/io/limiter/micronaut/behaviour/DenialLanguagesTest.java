// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.behaviour.DenialAnswersTest.HTML;
import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.HttpService.path;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.MessageSource;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Primary;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.i18n.ResourceBundleMessageSource;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.server.util.locale.CompositeHttpLocaleResolver;
import io.micronaut.http.server.util.locale.HttpAbstractLocaleResolver;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import io.micronaut.http.server.util.locale.HttpLocaleResolver;
import io.micronaut.http.server.util.locale.RequestLocaleResolver;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The message of a denial is in the client's language, in every form of the body. */
class DenialLanguagesTest {

  private static final String BUNDLES = "test.denial-bundles";
  private static final String LOCALES = "test.locales";
  private static final String ENGLISH = "Too many requests, try again later";
  private static final String CHINESE = "请求过于频繁，请稍后再试";

  /** The texts of an application. */
  @Factory
  @Requires(property = BUNDLES)
  static class Bundles {
    @Singleton
    MessageSource texts() {
      return new ResourceBundleMessageSource("denials.app", Locale.ENGLISH);
    }
  }

  /** Has a message key of the application. */
  @Controller("/denials/keyed")
  @Requires(property = BUNDLES)
  static class Keyed {
    @Get
    @RateLimiter(rules = @RateRule(count = 1, time = 60), message = "{sms.limited}")
    String keyed() {
      return "ok";
    }
  }

  /** Finds the language where an application keeps it, such as in a session. */
  @Singleton
  @Requires(property = LOCALES, value = "own")
  static class OwnLocales extends HttpAbstractLocaleResolver {
    OwnLocales(HttpLocaleResolutionConfiguration configuration) {
      super(configuration);
    }

    @Override
    public Optional<Locale> resolve(HttpRequest<?> request) {
      return request.getHeaders().findFirst("X-Language").map(Locale::forLanguageTag);
    }
  }

  /** Takes the place of the resolver that reads the header. */
  @Singleton
  @Replaces(RequestLocaleResolver.class)
  @Requires(property = LOCALES, value = "header")
  static class OwnHeader extends RequestLocaleResolver {
    OwnHeader(HttpLocaleResolutionConfiguration configuration) {
      super(configuration);
    }

    @Override
    public Optional<Locale> resolve(HttpRequest<?> request) {
      return request.getHeaders().findFirst("X-Language").map(Locale::forLanguageTag);
    }
  }

  /** Takes the place of the resolver that asks all others. */
  @Primary
  @Singleton
  @Replaces(CompositeHttpLocaleResolver.class)
  @Requires(property = LOCALES, value = "all")
  static class OwnChoice extends CompositeHttpLocaleResolver {
    OwnChoice(HttpLocaleResolver[] all, HttpLocaleResolutionConfiguration configuration) {
      super(all, configuration);
    }

    @Override
    public Optional<Locale> resolve(HttpRequest<?> request) {
      return request
          .getHeaders()
          .findFirst("X-Language")
          .map(Locale::forLanguageTag)
          .or(() -> super.resolve(request));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "micronaut.server.locale-resolution.fixed, zh, X-Any, any",
    "micronaut.server.locale-resolution.cookie-name, lang, Cookie, lang=zh",
    "test.locales, own, X-Language, zh",
    "test.locales, header, X-Language, zh",
    "test.locales, all, X-Language, zh"
  })
  void whatTheApplicationConfiguresGoesBeforeAcceptLanguage(
      String property, String value, String field, String content) {
    try (TestServer server = DenialAnswersTest.start(Map.of(property, value))) {
      server.get("/denials/limited");

      assertThat(server.get("/denials/limited", "Accept-Language", "en", field, content).body())
          .contains(CHINESE);
      assertThat(server.get("/denials/limited", field, content).body()).contains(CHINESE);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "micronaut.server.locale-resolution.cookie-name, lang",
    "test.locales, own",
    "test.locales, all"
  })
  void whereThatHasNoLanguageAcceptLanguageDecides(String property, String value) {
    try (TestServer server = DenialAnswersTest.start(Map.of(property, value))) {
      server.get("/denials/limited");

      assertThat(server.get("/denials/limited", "Accept-Language", "en;q=0.1, zh;q=0.9").body())
          .contains(CHINESE);
      assertThat(server.get("/denials/limited").body()).contains(ENGLISH);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "application|application/json|\"errors\":[{\"message\":\"%s\"}]",
        "problem|application/problem+json|\"title\":\"Quota Exceeded\",\"status\":429,\"detail\":\"%s\"",
        "template|application/json|{\"msg\":\"%s\",\"title\":\"Too Many Requests\"}"
      })
  void programsReceiveTheLanguageOfTheRequest(String body, String type, String message) {
    Map<String, Object> settings = new LinkedHashMap<>(Map.of("limiter.denial.body", body));
    if (body.equals("template")) {
      settings.put("limiter.denial.template.msg", "{message}");
      settings.put("limiter.denial.template.title", "{title}");
    }
    try (TestServer server = DenialAnswersTest.start(settings)) {
      server.get("/denials/limited");
      HttpResponse<String> chinese =
          server.get("/denials/limited", "Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8");
      HttpResponse<String> french = server.get("/denials/limited", "Accept-Language", "fr");

      assertThat(field(chinese, "Content-Type")).isEqualTo(type);
      assertThat(chinese.body()).contains(message.formatted(CHINESE));
      assertThat(french.body()).contains(message.formatted(ENGLISH));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "en;q=0.1, zh;q=0.9|Chinese",
        "zh;q=0.1, en;q=0.9|English",
        "zh;q=0, en|English",
        "*;q=0.5, zh|Chinese",
        "*|English",
        ";|English",
        "zh;q=high|English"
      })
  void theLanguageThatTheCallerPrefersIsUsed(String accepted, String message) {
    try (TestServer server = DenialAnswersTest.start(Map.of())) {
      server.get("/denials/limited");

      assertThat(server.get("/denials/limited", "Accept-Language", accepted).body())
          .contains(message.equals("Chinese") ? CHINESE : "Too many requests");
    }
  }

  /** Locales that are made up could use up what is remembered of them. */
  @Test
  void noClientCanChangeTheLanguageOfOthers() {
    try (TestServer server = DenialAnswersTest.start(Map.of())) {
      server.get("/denials/limited");
      for (int i = 0; i < 600; i++) {
        server.get("/denials/limited", "Accept-Language", "en-%s".formatted(100 + i));
      }

      assertThat(server.get("/denials/limited", "Accept-Language", "zh-TW").body())
          .contains("請求過於頻繁，請稍後再試");
    }
  }

  @Test
  void browsersReceiveTheirPreferredLanguage() {
    try (TestServer server = DenialAnswersTest.start(Map.of())) {
      server.get("/denials/limited");
      HttpResponse<String> page =
          server.get("/denials/limited", "Accept", HTML, "Accept-Language", "zh-TW");

      assertThat(page.body()).startsWith("<!doctype html>").contains("請求過於頻繁，請稍後再試");
    }
  }

  @Test
  void theApplicationsBundlesGoBeforeOurs() {
    try (TestServer server = DenialAnswersTest.start(Map.of(BUNDLES, true))) {
      server.post("/denials/duplicate", "");

      assertThat(duplicate(server, "de")).contains("Das haben wir schon");
      assertThat(duplicate(server, "zh")).as("theirs has no Chinese").contains("We have this one");
      server.get("/denials/limited");
      assertThat(server.get("/denials/limited", "Accept-Language", "zh").body())
          .as("theirs has no such key")
          .contains(CHINESE);
    }
  }

  @Test
  void aKeyOfAnAnnotationIsUsedWhereALanguageHasIt() {
    try (TestServer server = DenialAnswersTest.start(Map.of(BUNDLES, true))) {
      server.get("/denials/keyed");
      HttpResponse<String> german = server.get("/denials/keyed", "Accept-Language", "de-DE");

      assertThat(german.body())
          .contains("Code kommt gleich, warte " + field(german, "Retry-After") + " s");
      assertThat(server.get("/denials/keyed", "Accept-Language", "zh").body()).contains(CHINESE);
    }
  }

  @Test
  void aTextHasItsArguments() {
    try (TestServer server = DenialAnswersTest.start(Map.of())) {
      HttpResponse<String> answered =
          DenialAnswersTest.second(server, "GET", "/denials/arguments?a=b");
      HttpResponse<String> only = DenialAnswersTest.second(server, "GET", "/denials/sms");

      assertThat(answered.body())
          .contains(
              "\"message\":\"rate_limited arguments half-hour 1 0 1800 GET %s {it's} %s\""
                  .formatted(path("/denials/arguments"), field(answered, "Retry-After")));
      assertThat(only.body()).contains("\"message\":\"" + field(only, "Retry-After") + "\"");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "/denials/message-by-argument?who=,en,A value required for rate limiting is missing",
    "/denials/message-by-argument?who=,zh,缺少限流所需的值"
  })
  void badRequestsHaveTheLanguageOfTheRequestToo(String path, String language, String message) {
    try (TestServer server = DenialAnswersTest.start(Map.of())) {
      HttpResponse<String> bad = server.get(path, "Accept-Language", language);

      assertThat(bad.statusCode()).isEqualTo(400);
      assertThat(field(bad, "Content-Type")).isEqualTo("application/json");
      assertThat(bad.body()).contains("\"errors\":[{\"message\":\"" + message + "\"}]");
    }
  }

  private static String duplicate(TestServer server, String language) {
    HttpResponse<String> denied =
        server.exchange("POST", "/denials/duplicate", "", "Accept-Language", language);
    assertThat(denied.statusCode()).isEqualTo(409);
    return denied.body();
  }
}
