// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.path;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.context.ServerRequestContext;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * A denial that is answered where it is found has the response that an exception would have had.
 */
class DirectAnswersTest {

  private static final String SPECIFICATION = "DirectAnswersTest";

  /** With handled exceptions logged, the application gets to see the exception of each denial. */
  private static final String BY_EXCEPTION = "micronaut.server.log-handled-exceptions";

  @Controller("/direct")
  @Requires(property = "spec.name", value = SPECIFICATION)
  static class Once {
    @Get(produces = MediaType.TEXT_PLAIN)
    @RateRule(count = 1, time = 3_600)
    String once() {
      return "once";
    }
  }

  /** Returns the current request, as any code that runs in the request can. */
  @Singleton
  @Requires(property = "spec.name", value = SPECIFICATION)
  @Requires(property = "test.body")
  static class RequestBody implements DenialBody {
    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      return response
          .contentType(MediaType.TEXT_PLAIN_TYPE)
          .body(ServerRequestContext.currentRequest().map(HttpRequest::getPath).orElse("none"));
    }
  }

  @Test
  void itHasTheSameStatusFieldsAndBody() {
    HttpResponse<String> direct = denied(Map.of());
    HttpResponse<String> handled = denied(Map.of(BY_EXCEPTION, true));

    assertThat(direct.statusCode()).isEqualTo(429);
    assertThat(fields(direct)).isEqualTo(fields(handled)).containsKey("server");
    assertThat(direct.body()).isEqualTo(handled.body());
    assertThat(date(direct))
        .isAfter(ZonedDateTime.now().minusMinutes(1))
        .isBefore(date(handled).plusMinutes(1));
  }

  @Test
  void aServerWithoutADateFieldHasNoneHere() {
    assertThat(denied(Map.of("micronaut.server.date-header", false)).headers().map())
        .doesNotContainKey("date");
  }

  @Test
  void itIsMadeWithinItsRequest() {
    assertThat(denied(Map.of("test.body", true)).body()).isEqualTo(path("/direct"));
    assertThat(denied(Map.of("test.body", true, BY_EXCEPTION, true)).body())
        .isEqualTo(path("/direct"));
  }

  /** The second call, which Redis denies. */
  private static HttpResponse<String> denied(Map<String, Object> settings) {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("micronaut.server.server-header", "tested");
    try (TestServer server = TestServer.start(SPECIFICATION, all)) {
      assertThat(server.get("/direct").statusCode()).isEqualTo(200);
      return server.get("/direct");
    }
  }

  /** But for the time of day, and the seconds that pass between two calls. */
  private static Map<String, List<String>> fields(HttpResponse<String> answer) {
    Map<String, List<String>> fields = new HashMap<>(answer.headers().map());
    fields.keySet().removeAll(List.of("date", "retry-after", "ratelimit", "ratelimit-reset"));
    assertThat(answer.headers().map()).containsKeys("date", "retry-after", "ratelimit");
    return fields;
  }

  private static ZonedDateTime date(HttpResponse<String> answer) {
    return ZonedDateTime.parse(
        answer.headers().firstValue("date").orElseThrow(), DateTimeFormatter.RFC_1123_DATE_TIME);
  }
}
