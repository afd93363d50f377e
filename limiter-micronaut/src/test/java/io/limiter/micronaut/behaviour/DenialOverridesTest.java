// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.behaviour.DenialAnswersTest.assertHeaders;
import static io.limiter.micronaut.behaviour.DenialAnswersTest.second;
import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.http.LimitDeniedHandler;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Singleton;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an application defines for its errors takes precedence over the response of the limiter. */
class DenialOverridesTest {

  private static final String OVERRIDE = "test.override";

  /** A global error route. */
  @Controller
  @Requires(property = OVERRIDE, value = "global")
  static class GlobalErrors {
    @Error(global = true)
    HttpResponse<String> denied(RateLimitExceededException denied) {
      return HttpResponse.<String>status(420, "Calm").body("global");
    }
  }

  /** A handler in place of the limiter's. */
  @Singleton
  @Replaces(LimitDeniedHandler.class)
  @Requires(property = OVERRIDE, value = "handler")
  static class OwnHandler extends LimitDeniedHandler {
    OwnHandler(DenialConfiguration configuration, DenialMessages messages, DenialBody body) {
      super(configuration, messages, body);
    }

    @Override
    public MutableHttpResponse<?> handle(HttpRequest request, LimitDeniedException denied) {
      return HttpResponse.status(420, "Calm").body("handler");
    }
  }

  /** A body of the application's own form. */
  @Singleton
  @Requires(property = OVERRIDE, value = "body")
  static class OwnBody implements DenialBody {
    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      return response
          .contentType(MediaType.TEXT_PLAIN_TYPE)
          .body(denial.code() + " " + denial.verdict().policy().name());
    }
  }

  /** An error format of the application's own. */
  @Singleton
  @Replaces(ErrorResponseProcessor.class)
  @Requires(property = OVERRIDE, value = "processor")
  static class OwnErrors implements ErrorResponseProcessor<Map<String, Object>> {
    @Override
    public MutableHttpResponse<Map<String, Object>> processResponse(
        ErrorContext error, MutableHttpResponse<?> response) {
      return response
          .contentType(MediaType.APPLICATION_JSON_TYPE)
          .body(Map.of("msg", error.getErrors().get(0).getMessage()));
    }
  }

  @Test
  void aGlobalErrorRouteAnswers() {
    try (TestServer server = start("global")) {
      java.net.http.HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.statusCode()).isEqualTo(420);
      assertThat(denied.body()).isEqualTo("global");
      assertHeaders(denied);
      assertThat(second(server, "POST", "/denials/duplicate").statusCode())
          .as("which it does not handle")
          .isEqualTo(409);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/denials/local/sync", "/denials/local/flux?who=a"})
  void aLocalErrorRouteAnswersBeforeAGlobalOne(String path) {
    try (TestServer server = start("global")) {
      java.net.http.HttpResponse<String> denied = second(server, "GET", path);

      assertThat(denied.statusCode()).isEqualTo(503);
      assertThat(denied.body()).isEqualTo("local: 1-per-60s");
      assertHeaders(denied);
    }
  }

  @Test
  void aHandlerInPlaceOfTheLimitersAnswers() {
    try (TestServer server = start("handler")) {
      java.net.http.HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.statusCode()).isEqualTo(420);
      assertThat(denied.body()).isEqualTo("handler");
      assertHeaders(denied);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"application", "problem"})
  void aBodyOfItsOwnIsWrittenIntoTheLimitersAnswer(String configured) {
    try (TestServer server =
        DenialAnswersTest.start(Map.of(OVERRIDE, "body", "limiter.denial.body", configured))) {
      java.net.http.HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(field(denied, "Content-Type")).startsWith("text/plain");
      assertThat(denied.body())
          .isEqualTo("rate_limited " + DenialRoutes.class.getName() + ".limited()");
      assertHeaders(denied);
    }
  }

  @Test
  void anErrorFormatOfItsOwnIsUsed() {
    try (TestServer server = start("processor")) {
      java.net.http.HttpResponse<String> denied = second(server, "GET", "/denials/message");

      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.body()).isEqualTo("{\"msg\":\"" + DenialRoutes.MESSAGE + "\"}");
      assertHeaders(denied);
    }
  }

  private static TestServer start(String override) {
    return DenialAnswersTest.start(Map.of(OVERRIDE, override));
  }
}
