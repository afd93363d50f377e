// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.behaviour.DenialAnswersTest.second;
import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.HttpService.path;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Verdict;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialBodyFactory;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.denial.Rejections;
import io.limiter.micronaut.exception.InvalidCallException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.http.BadRequestHandler;
import io.limiter.micronaut.http.LimitDeniedHandler;
import io.limiter.micronaut.http.RateLimitFields;
import io.micronaut.context.MessageSource;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.util.LocaleResolver;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import io.micronaut.http.server.util.locale.HttpLocaleResolver;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What an application defines for its errors takes precedence, each part of an answer can be put in
 * place of ours, and the others go on as before.
 */
class DenialReplacementsTest {

  private static final String REPLACED = "test.replaced";

  /** Says everything louder. */
  @Singleton
  @Replaces(DenialMessages.class)
  @Requires(property = REPLACED, value = "messages")
  static class Louder extends DenialMessages {
    Louder(
        MessageSource source,
        Collection<MessageSource> sources,
        LocaleResolver<HttpRequest<?>> locales,
        Collection<HttpLocaleResolver> resolvers,
        HttpLocaleResolutionConfiguration configuration) {
      super(source, sources, locales, resolvers, configuration);
    }

    @Override
    public String render(
        String message,
        String otherwise,
        HttpRequest<?> request,
        Supplier<Map<String, Object>> arguments) {
      return super.render(message, otherwise, request, arguments) + "!";
    }

    @Override
    public void requireUsable(String message) {
      // Its messages are checked by somebody else.
    }
  }

  /** A body by the factory's place. */
  @Factory
  @Requires(property = REPLACED, value = "bodies")
  static class OwnBodies {
    @Singleton
    @Replaces(bean = DenialBody.class, factory = DenialBodyFactory.class)
    DenialBody own() {
      return (denial, response) ->
          response.body(
              "%s %s %s".formatted(denial.title(), denial.violated(), denial.rule().isPresent()));
    }
  }

  /** A global error route. */
  @Controller
  @Requires(property = REPLACED, value = "global")
  static class GlobalErrors {
    @Error(global = true)
    io.micronaut.http.HttpResponse<String> denied(RateLimitExceededException denied) {
      return io.micronaut.http.HttpResponse.<String>status(420, "Calm").body("global");
    }
  }

  /** An error route of a status. */
  @Controller
  @Requires(property = REPLACED, value = "status")
  static class StatusErrors {
    @Get("/returned")
    HttpStatus returned() {
      return HttpStatus.TOO_MANY_REQUESTS;
    }

    @Error(global = true, status = HttpStatus.TOO_MANY_REQUESTS)
    String tooMany() {
      return "by status";
    }
  }

  /** An error format of the application's own. */
  @Singleton
  @Replaces(ErrorResponseProcessor.class)
  @Requires(property = REPLACED, value = "processor")
  static class OwnErrors implements ErrorResponseProcessor<Map<String, Object>> {
    @Override
    public MutableHttpResponse<Map<String, Object>> processResponse(
        ErrorContext error, MutableHttpResponse<?> response) {
      return response
          .contentType(MediaType.APPLICATION_JSON_TYPE)
          .body(Map.of("msg", error.getErrors().get(0).getMessage()));
    }
  }

  /** Whole answers. */
  @Singleton
  @Replaces(LimitDeniedHandler.class)
  @Requires(property = REPLACED, value = "responses")
  static class OwnResponses extends LimitDeniedHandler {
    OwnResponses(DenialConfiguration configuration, DenialMessages messages, DenialBody body) {
      super(configuration, messages, body);
    }

    @Override
    public MutableHttpResponse<?> handle(HttpRequest request, LimitDeniedException denied) {
      return super.handle(request, denied).header("X-Own", "responses");
    }
  }

  /** Header fields. */
  @Singleton
  @Replaces(RateLimitFields.class)
  @Requires(property = REPLACED, value = "fields")
  static class OwnFields extends RateLimitFields {
    OwnFields(HeadersConfiguration configuration) {
      super(configuration, List.of());
    }

    @Override
    public void write(Verdict verdict, MutableHttpResponse<?> response) {
      response.getHeaders().set("X-Own", "fields");
    }
  }

  /** Bad requests. */
  @Singleton
  @Replaces(BadRequestHandler.class)
  @Requires(property = REPLACED, value = "subjects")
  static class OwnSubjects extends BadRequestHandler {
    OwnSubjects(Rejections rejections) {
      super(rejections);
    }

    @Override
    protected String message(InvalidCallException missing) {
      return "Who are you on {path}?";
    }
  }

  /** A handler of the application, without {@code @Replaces}. */
  @Singleton
  @Produces
  @Requires(property = REPLACED, value = "plain-denials")
  static class PlainDenials implements ExceptionHandler<LimitDeniedException, String> {
    @Override
    public String handle(HttpRequest request, LimitDeniedException denied) {
      return "denied: " + denied.verdict().outcome();
    }
  }

  /** A handler of bad requests, without {@code @Replaces}. */
  @Singleton
  @Produces
  @Requires(property = REPLACED, value = "plain-bad-requests")
  static class PlainBadRequests implements ExceptionHandler<InvalidCallException, String> {
    @Override
    public String handle(HttpRequest request, InvalidCallException mistake) {
      return "bad";
    }
  }

  @Test
  void aGlobalErrorRouteAnswers() {
    try (TestServer server = start("global")) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");
      assertThat(denied.statusCode()).isEqualTo(420);
      assertThat(denied.body()).isEqualTo("global");
      DenialAnswersTest.assertHeaders(denied);
      assertThat(second(server, "POST", "/denials/duplicate").statusCode())
          .as("which it does not handle")
          .isEqualTo(409);
    }
  }

  /** It is for statuses that routes return; an exception has the route or handler of its type. */
  @ParameterizedTest
  @CsvSource({"/denials/limited", "/denials/message-by-argument?who=a"})
  void anErrorRouteOfAStatusReceivesNoDenial(String path) {
    try (TestServer server = start("status")) {
      HttpResponse<String> denied = second(server, "GET", path);
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.body()).doesNotContain("by status");
      DenialAnswersTest.assertHeaders(denied);
      assertThat(server.get("/returned").body()).isEqualTo("by status");
    }
  }

  @ParameterizedTest
  @CsvSource({"/denials/local/sync", "/denials/local/flux?who=a"})
  void aLocalErrorRouteAnswersBeforeAGlobalOne(String path) {
    try (TestServer server = start("global")) {
      HttpResponse<String> denied = second(server, "GET", path);
      assertThat(denied.statusCode()).isEqualTo(503);
      assertThat(denied.body()).isEqualTo("local: 1-per-60s");
      DenialAnswersTest.assertHeaders(denied);
    }
  }

  @Test
  void anErrorFormatOfItsOwnIsUsed() {
    try (TestServer server = start("processor")) {
      HttpResponse<String> denied = second(server, "GET", "/denials/message");
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.body()).isEqualTo("{\"msg\":\"" + DenialRoutes.MESSAGE + "\"}");
      DenialAnswersTest.assertHeaders(denied);
    }
  }

  @Test
  void theHandlersByPlainBeans() {
    try (TestServer server = start("plain-denials", "limiter.denial.body", "problem")) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.body()).isEqualTo("denied: LIMITED");
      assertThat(field(denied, "Retry-After")).isNotEmpty();
    }
    try (TestServer server = start("plain-bad-requests", "limiter.denial.body", "problem")) {
      assertThat(server.get("/denials/message-by-argument?who=").body()).isEqualTo("bad");
    }
  }

  @Test
  void theMessages() {
    try (TestServer server = start("messages", "limiter.denial.duplicate-message", "{not.there}")) {
      assertThat(second(server, "GET", "/denials/limited").body())
          .contains("\"Too many requests, try again later!\"");
      assertThat(second(server, "POST", "/denials/duplicate").body())
          .contains("\"This request was already submitted!\"");
    }
  }

  @ParameterizedTest
  @CsvSource({"application", "problem"})
  void theBodies(String body) {
    try (TestServer server = start("bodies", "limiter.denial.body", body)) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.body()).isEqualTo("Too Many Requests [1-per-60s] true");
      DenialAnswersTest.assertHeaders(denied);
    }
  }

  @Test
  void theAnswers() {
    try (TestServer server = start("responses", "limiter.denial.body", "problem")) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(field(denied, "X-Own")).isEqualTo("responses");
      assertThat(denied.body()).startsWith("{\"type\":\"https://iana.org/");
      DenialAnswersTest.assertHeaders(denied);
    }
  }

  @Test
  void theHeaderFields() {
    try (TestServer server = start("fields", "limiter.denial.body", "problem")) {
      HttpResponse<String> admitted = server.get("/denials/limited");
      HttpResponse<String> denied = server.get("/denials/limited");

      assertThat(field(admitted, "X-Own")).isEqualTo("fields");
      assertThat(field(denied, "X-Own")).isEqualTo("fields");
      assertThat(denied.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
      assertThat(field(denied, "Cache-Control")).isEqualTo("no-store");
    }
  }

  @Test
  void theAnswersToBadRequests() {
    try (TestServer server = start("subjects", "limiter.denial.body", "problem")) {
      String path = "/denials/message-by-argument?";
      HttpResponse<String> bad = server.get(path + "who=");

      assertThat(bad.statusCode()).isEqualTo(400);
      assertThat(bad.body()).contains("\"detail\":\"Who are you on " + path(path) + '"');
    }
  }

  private static TestServer start(String replaced, String property, Object value) {
    return DenialAnswersTest.start(Map.of(REPLACED, replaced, property, value));
  }

  private static TestServer start(String replaced) {
    return DenialAnswersTest.start(Map.of(REPLACED, replaced));
  }
}
