// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.denial.Rejections;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.MessageSource;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.order.Ordered;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The texts of rejected submissions, in every body and language. */
class IdempotencyMessagesTest {

  private static final String SPEC = "IdempotencyMessagesTest";

  private static final Set<String> CODES =
      Set.of(
          "idempotency_key_missing",
          "idempotency_key_malformed",
          "idempotency_key_anonymous",
          "idempotency_key_reused",
          "idempotency_key_in_use",
          "idempotent_answer_unavailable",
          "idempotent_request_too_large",
          "idempotent_request_multipart",
          "idempotency_unavailable");

  @Controller("/rejected")
  @Requires(property = "spec.name", value = SPEC)
  static class Rejected {

    private final Rejections rejections;

    Rejected(Rejections rejections) {
      this.rejections = rejections;
    }

    @Get("/{code}")
    HttpResponse<?> get(HttpRequest<?> request, String code) {
      return rejections.reject(request, HttpStatus.CONFLICT, code);
    }
  }

  @Singleton
  @Requires(property = "broken", value = "true")
  static final class Broken implements MessageSource {

    @Override
    public int getOrder() {
      return Ordered.HIGHEST_PRECEDENCE;
    }

    @Override
    public Optional<String> getRawMessage(String code, MessageContext context) {
      if (code.equals("limiter.idempotency-key-missing")) {
        throw new IllegalStateException("broken");
      }
      return Optional.empty();
    }

    @Override
    public String interpolate(String template, MessageContext context) {
      throw new IllegalStateException("broken");
    }
  }

  private static String rejected(String code, String language, Object... settings) {
    Map<String, Object> all = new HashMap<>(Map.of("spec.name", SPEC));
    for (int i = 0; i < settings.length; i += 2) {
      all.put(settings[i].toString(), settings[i + 1]);
    }
    try (EmbeddedServer server = ApplicationContext.run(EmbeddedServer.class, all);
        HttpClient client = HttpClient.create(server.getURL())) {
      client
          .toBlocking()
          .exchange(
              HttpRequest.GET("/rejected/" + code).header("Accept-Language", language),
              Argument.of(String.class),
              Argument.of(String.class));
      throw new AssertionError("not rejected");
    } catch (HttpClientResponseException rejected) {
      assertThat(rejected.getStatus().getCode()).isEqualTo(409);
      return rejected.getResponse().getBody(String.class).orElseThrow();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "idempotency_key_in_use|en|The first request with this Idempotency-Key is still processed",
        "idempotency_key_in_use|de|The first request with this Idempotency-Key is still processed",
        "idempotency_key_in_use|zh-CN|使用该 Idempotency-Key 的首个请求仍在处理中",
        "idempotency_key_in_use|zh-TW|使用此 Idempotency-Key 的首個請求仍在處理中",
        "idempotency_key_anonymous|en|An Idempotency-Key needs a caller that the service knows, such as a user that has signed in"
      })
  void theMessageIsInTheLanguageOfTheRequest(String code, String language, String message) {
    assertThat(rejected(code, language)).contains(message).contains(code);
  }

  @Test
  void aBrokenSourceOfTheApplicationDoesNotHideIt() {
    assertThat(rejected("idempotency_key_missing", "en", "broken", "true"))
        .contains("The Idempotency-Key header is required");
  }

  @Test
  void aProblemHasTheTypeAndTheTitleOfTheDraft() {
    Object[] problem = {"limiter.denial.body", "problem"};
    assertThat(rejected("idempotency_key_in_use", "zh", problem))
        .contains(
            "\"type\":\"https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07#section-2.7\"")
        .contains("\"title\":\"A request is outstanding for this Idempotency-Key\"")
        .contains("\"code\":\"idempotency_key_in_use\"");
    assertThat(
            rejected(
                "idempotency_key_reused",
                "en",
                "limiter.denial.body",
                "problem",
                "limiter.idempotency.problem-type",
                "/docs/keys"))
        .contains("\"type\":\"/docs/keys\"")
        .contains("\"title\":\"Idempotency-Key is already used\"");
    assertThat(rejected("idempotency_unavailable", "en", problem))
        .contains("\"type\":\"about:blank\"")
        .contains("\"title\":\"Conflict\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "_zh", "_zh_TW"})
  void eachLanguageHasAMessageForEachCode(String language) throws Exception {
    Properties messages = new Properties();
    try (var file =
        IdempotencyMessages.class.getResourceAsStream(
            "messages%s.properties".formatted(language))) {
      messages.load(file);
    }
    assertThat(messages.stringPropertyNames())
        .containsExactlyInAnyOrderElementsOf(
            Stream.of(CODES.toArray(String[]::new))
                .map(code -> "limiter." + code.replace('_', '-'))
                .toList());
  }
}
