// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.EventLoopBlocking;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.MicronautVersion;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.exceptions.HttpStatusException;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The standard metrics and spans see what the gate answers, as they see any other response. */
class StandardMetricsTest {

  private static final String SPEC = "StandardMetricsTest";
  private static final String REQUESTS = "http.server.requests";

  @Controller("/metered")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/limited/{id}")
    @RateLimiter(value = "limited", rules = @RateRule(count = 1))
    String limited(String id) {
      return id;
    }

    @Get("/broken")
    @RateLimiter(resolver = Broken.class, rules = @RateRule(count = 1))
    String broken() {
      return "ok";
    }

    @Get("/own/{id}")
    HttpResponse<String> own(String id) {
      return HttpResponse.status(HttpStatus.TOO_MANY_REQUESTS);
    }

    @Get("/thrown/{id}")
    String thrown(String id) {
      throw new HttpStatusException(HttpStatus.TOO_MANY_REQUESTS, id);
    }
  }

  @Controller("/before-security")
  @Requires(property = "spec.name", value = SPEC)
  @Requires(property = "limiter.gate.enabled", notEquals = "false")
  static class BeforeSecurity {

    @Get
    @RateLimiter(value = "before", beforeSecurity = true, rules = @RateRule(count = 1))
    String beforeSecurity() {
      return "ok";
    }
  }

  @Controller("/handled")
  @Requires(property = "spec.name", value = SPEC)
  static class Handling {

    @Get
    @RateRule(count = 1)
    String limited() {
      return "ok";
    }

    @Error
    HttpResponse<String> handle(RateLimitExceededException denied) {
      return HttpResponse.status(HttpStatus.I_AM_A_TEAPOT);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Broken implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      throw new IllegalStateException("as resolvers may");
    }
  }

  /** Answers between security and the gate, or behind the gate. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Answers {

    @RequestFilter
    @Order(39_000)
    @Nullable HttpResponse<?> before(HttpRequest<?> request) {
      return request.getHeaders().contains("X-Before") ? HttpResponse.unauthorized() : null;
    }

    @RequestFilter
    @Order(40_000)
    @Nullable HttpResponse<?> behind(HttpRequest<?> request) {
      return request.getHeaders().contains("X-Behind") ? HttpResponse.unauthorized() : null;
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Spans implements SpanProcessor {

    final Queue<ReadableSpan> ended = new ConcurrentLinkedQueue<>();

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {}

    @Override
    public boolean isStartRequired() {
      return false;
    }

    @Override
    public void onEnd(ReadableSpan span) {
      ended.add(span);
    }

    @Override
    public boolean isEndRequired() {
      return true;
    }
  }

  private static TestServer start(Object... settings) {
    Map<String, Object> all =
        HttpService.settings("micronaut.metrics.enabled", true, HttpService.AT_ROOT, true);
    all.putAll(HttpService.settings(settings));
    return TestServer.start(SPEC, all);
  }

  /** Each line is the tags in the order method, status, uri, exception, and how often. */
  private static List<String> recorded(HttpService server) {
    return server.bean(MeterRegistry.class).find(REQUESTS).timers().stream()
        .map(StandardMetricsTest::line)
        .sorted()
        .toList();
  }

  private static String line(Timer timer) {
    return "%s %s %s %s %s"
        .formatted(
            timer.getId().getTag("method"),
            timer.getId().getTag("status"),
            timer.getId().getTag("uri"),
            timer.getId().getTag("exception"),
            timer.count());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void eachDenialIsRecordedOnceWithTheTagsOfOtherResponses(boolean gate) {
    try (TestServer server = start("limiter.gate.enabled", gate)) {
      for (int i = 0; i < 4; i++) {
        assertThat(server.status("/metered/limited/" + i)).isEqualTo(i == 0 ? 200 : 429);
      }
      assertThat(server.status("/metered/own/1")).isEqualTo(429);
      assertThat(server.status("/metered/thrown/1")).isEqualTo(429);

      assertThat(recorded(server))
          .containsExactly(
              "GET 200 /metered/limited/{id} none 1",
              "GET 429 /metered/limited/{id} RateLimitExceededException 3",
              "GET 429 /metered/own/{id} none 1",
              "GET 429 /metered/thrown/{id} HttpStatusException 1");
      assertThat(server.bean(MeterRegistry.class).find(REQUESTS).timers())
          .allSatisfy(timer -> assertThat(timer.totalTime(TimeUnit.NANOSECONDS)).isPositive());
    }
  }

  @Test
  void aDenialBeforeSecurityIsRecordedOnce() {
    try (TestServer server = start()) {
      assertThat(server.status("/before-security")).isEqualTo(200);
      assertThat(server.status("/before-security")).isEqualTo(429);

      assertThat(recorded(server))
          .containsExactly(
              "GET 200 /before-security none 1",
              "GET 429 /before-security RateLimitExceededException 1");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDenialThatTheApplicationHandlesIsRecordedOnce(boolean gate) {
    try (TestServer server = start("limiter.gate.enabled", gate)) {
      assertThat(server.status("/handled")).isEqualTo(200);
      assertThat(server.status("/handled")).isEqualTo(418);

      assertThat(recorded(server))
          .containsExactly(
              "GET 200 /handled none 1", "GET 418 /handled RateLimitExceededException 1");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFailureOfTheGateIsRecordedOnce(boolean gate) {
    try (TestServer server = start("limiter.gate.enabled", gate)) {
      assertThat(server.status("/metered/broken")).isEqualTo(500);

      assertThat(recorded(server))
          .singleElement()
          .asString()
          .startsWith("GET 500 /metered/broken ")
          .endsWith(" 1");
    }
  }

  /**
   * Unless Micronaut records them: since Micronaut 5 its filter, without an order, is before those.
   */
  @Test
  void answersOfOtherFiltersAreNotRecorded() {
    try (TestServer server = start()) {
      assertThat(server.status("/metered/limited/1", "X-Before", "1")).isEqualTo(401);
      assertThat(server.status("/metered/limited/1", "X-Behind", "1")).isEqualTo(401);
      assertThat(server.status("/before-security", "X-Before", "1")).isEqualTo(401);

      assertThat(recorded(server))
          .isEqualTo(
              MicronautVersion.either(
                  List.of(),
                  List.of(
                      "GET 401 /before-security none 1", "GET 401 /metered/limited/{id} none 2")));
    }
  }

  @Test
  void theSettingsOfTheStandardMetricsHold() {
    try (TestServer server =
        start(
            "micronaut.metrics.binders.web.client-errors-uris.enabled",
            false,
            "micronaut.metrics.binders.web.server.percentiles",
            "0.5,0.9")) {
      server.status("/metered/limited/1");
      server.status("/metered/limited/1");

      Timer denied = server.bean(MeterRegistry.class).get(REQUESTS).tag("status", "429").timer();
      assertThat(line(denied)).isEqualTo("GET 429 BAD_REQUEST RateLimitExceededException 1");
      assertThat(denied.takeSnapshot().percentileValues()).hasSize(2);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/", "/shop"})
  void onlyPathsOfTheStandardMetricsAreRecorded(String contextPath) {
    String prefix = contextPath.equals("/") ? "" : contextPath;
    try (TestServer server =
        start(
            "micronaut.server.context-path",
            contextPath,
            "micronaut.metrics.http.path",
            "/metered/**")) {
      for (String path : List.of("/metered/limited/1", "/handled")) {
        server.status(prefix + path);
        assertThat(server.status(prefix + path)).isIn(429, 418);
      }
      assertThat(recorded(server))
          .hasSize(2)
          .allMatch(line -> line.contains("/metered/limited/{id}"));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "micronaut.metrics.binders.web.enabled",
        "micronaut.metrics.enabled",
        "limiter.metrics.enabled"
      })
  void eachSettingSwitchesItOff(String setting) {
    boolean ofMicronaut = MicronautVersion.IS_5 && setting.startsWith("limiter.");
    try (TestServer server = start(setting, false)) {
      server.status("/metered/limited/1");
      assertThat(server.status("/metered/limited/1")).isEqualTo(429);

      assertThat(
              server
                  .context()
                  .findBean(MeterRegistry.class)
                  .map(meters -> meters.find(REQUESTS).tag("status", "429").timers().size())
                  .orElse(0))
          .isEqualTo(ofMicronaut ? 1 : 0);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDenialIsASpanWithTheDecision(boolean gate) {
    assumeThat(System.getProperty("micronaut.propagation"))
        .as("micronaut-tracing of Micronaut 4 has no spans in scoped values")
        .isNotEqualTo("scoped-value");
    try (TestServer server = start("limiter.gate.enabled", gate, "micronaut.otel.enabled", true)) {
      Queue<ReadableSpan> spans = server.bean(Spans.class).ended;
      server.status("/metered/own/1");
      await().until(() -> spans.size() == 1);
      spans.clear();
      EventLoopBlocking.take(); // OpenTelemetry loads classes with its first request
      assertThat(server.status("/metered/limited/1")).isEqualTo(200);
      assertThat(server.status("/metered/limited/1")).isEqualTo(429);
      assertThat(server.status("/metered/own/1")).isEqualTo(429);

      await().until(() -> spans.size() == 3);
      assertThat(spans)
          .extracting(StandardMetricsTest::line)
          .containsExactly(
              "200 /metered/limited/{id} limited allowed store",
              "429 /metered/limited/{id} limited limited store",
              "429 /metered/own/{id} null null null");
    }
  }

  private static String line(ReadableSpan span) {
    return "%s %s %s %s %s"
        .formatted(
            span.getAttribute(AttributeKey.longKey("http.response.status_code")),
            span.getAttribute(AttributeKey.stringKey("http.route")),
            span.getAttribute(AttributeKey.stringKey("limiter.policy")),
            span.getAttribute(AttributeKey.stringKey("limiter.outcome")),
            span.getAttribute(AttributeKey.stringKey("limiter.decided_by")));
  }
}
