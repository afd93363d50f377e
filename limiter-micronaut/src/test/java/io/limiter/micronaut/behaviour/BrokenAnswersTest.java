// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.http.RateLimitFields;
import io.micronaut.context.MessageSource;
import io.micronaut.context.annotation.Property;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.util.LocaleResolver;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.context.ServerRequestContext;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import io.micronaut.http.server.util.locale.HttpLocaleResolver;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The application's own beans word the answers, and fail: a denial stays the denial that it is, an
 * admitted call keeps its answer, and the log reports it.
 */
class BrokenAnswersTest {

  private static final String BROKEN = "test.broken";

  @AutoClose private final RecordedLog log = RecordedLog.of("io.limiter.micronaut");

  @ParameterizedTest
  @CsvSource({"body-throws", "body-null"})
  void withoutItsBodyADenialHasItsStatusAndFields(String broken) {
    try (TestServer server = start(broken)) {
      HttpResponse<String> denied = second(server, "/denials/limited");

      assertDenied(denied);
      assertThat(denied.body()).isEmpty();
      assertLoggedOnce("OwnBody has failed, so denials are sent without a body");
    }
  }

  @Test
  void withoutTheApplicationsMessagesTheDefaultOnesAreUsed() {
    try (TestServer server = start("source")) {
      HttpResponse<String> denied = second(server, "/denials/limited", "Accept-Language", "zh");

      assertDenied(denied);
      assertThat(denied.body()).contains("请求过于频繁，请稍后再试");
      assertThat(server.get("/denials/message-by-argument?who=").statusCode()).isEqualTo(400);
      assertLoggedOnce("A MessageSource has failed, so the default message is used");
    }
  }

  @ParameterizedTest
  @CsvSource({"messages-throw", "messages-null"})
  void withoutAnyMessageTheStatusRemains(String broken) {
    try (TestServer server = start(broken)) {
      HttpResponse<String> denied = second(server, "/denials/limited");

      assertDenied(denied);
      assertThat(denied.body()).contains("\"errors\":[{\"message\":\"Too Many Requests\"}]");
      assertThat(server.get("/denials/message-by-argument?who=").statusCode()).isEqualTo(400);
      assertLoggedOnce(
          "has failed, so the message of denials is the reason phrase of their status");
    }
  }

  @Test
  void answersAreUnchangedIfOurHeaderFieldsFail() {
    try (TestServer server = start("fields")) {
      HttpResponse<String> admitted = server.get("/denials/limited");
      HttpResponse<String> denied = server.get("/denials/limited");

      assertThat(admitted.statusCode()).isEqualTo(200);
      assertThat(admitted.body()).isEqualTo("ok");
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.body()).contains("Too many requests, try again later");
      assertThat(log.messages())
          .anyMatch(
              line -> line.contains("has failed, so responses are sent without its header fields"));
    }
  }

  private void assertDenied(HttpResponse<String> denied) {
    assertThat(denied.statusCode()).isEqualTo(429);
    DenialAnswersTest.assertHeaders(denied);
  }

  /** However often it has happened. */
  private void assertLoggedOnce(String what) {
    assertThat(log.events())
        .filteredOn(event -> event.getLevel() == Level.ERROR)
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.getFormattedMessage()).contains(what);
              assertThat(event.getThrowableProxy()).isNotNull();
            });
  }

  private static HttpResponse<String> second(TestServer server, String path, String... headers) {
    server.get(path, headers);
    server.get(path, headers);
    return server.get(path, headers);
  }

  private static TestServer start(String broken) {
    return DenialAnswersTest.start(Map.of(BROKEN, broken));
  }

  @Singleton
  @Requires(property = BROKEN, pattern = "body-.*")
  static class OwnBody implements DenialBody {

    private final boolean gives;

    OwnBody(@Property(name = BROKEN) String broken) {
      gives = broken.equals("body-null");
    }

    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      response.body("half of it").header("X-Half", "written");
      if (gives) {
        return null;
      }
      throw new IllegalStateException("no words");
    }
  }

  @Singleton
  @Requires(property = BROKEN, value = "source")
  static class OwnSource implements MessageSource {
    @Override
    public Optional<String> getRawMessage(String code, MessageContext context) {
      if (code.startsWith("limiter.") && ServerRequestContext.currentRequest().isPresent()) {
        throw new IllegalStateException("no words");
      }
      return Optional.empty();
    }

    @Override
    public String interpolate(String template, MessageContext context) {
      return template;
    }
  }

  @Singleton
  @Replaces(DenialMessages.class)
  @Requires(property = BROKEN, pattern = "messages-.*")
  static class OwnMessages extends DenialMessages {

    private final boolean gives;

    OwnMessages(
        MessageSource source,
        Collection<MessageSource> sources,
        LocaleResolver<HttpRequest<?>> locales,
        Collection<HttpLocaleResolver> resolvers,
        HttpLocaleResolutionConfiguration configuration,
        @Property(name = BROKEN) String broken) {
      super(source, sources, locales, resolvers, configuration);
      gives = broken.equals("messages-null");
    }

    @Override
    public String render(
        String message,
        String otherwise,
        HttpRequest<?> request,
        Supplier<Map<String, Object>> arguments) {
      if (gives) {
        return null;
      }
      throw new IllegalStateException("no words");
    }
  }

  @Singleton
  @Replaces(RateLimitFields.class)
  @Requires(property = BROKEN, value = "fields")
  static class OwnFields extends RateLimitFields {
    OwnFields(HeadersConfiguration configuration) {
      super(configuration, List.of());
    }

    @Override
    public void write(Verdict verdict, MutableHttpResponse<?> response) {
      throw new IllegalStateException("no fields");
    }
  }
}
