// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A refresh that has rules count from zero is a warning, and any other is none. */
class ShapeWarningsTest {

  private static final String SPEC = "ShapeWarningsTest";
  private static final String NEWS = "limiter.policies.news.";

  @Controller("/shapes")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {
    @Get("/news")
    @RateLimiter(value = "news", rules = @RateRule(count = 2))
    String news() {
      return "ok";
    }

    @Get("/order")
    @RateLimiter(
        value = "order",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    String order() {
      return "ok";
    }
  }

  private final Map<String, Object> changing = new ConcurrentHashMap<>();

  @AutoClose
  private final RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.ShapeChanges");

  @AutoClose private TestServer server;

  @BeforeEach
  void start() {
    server = TestServer.start(SPEC);
    server
        .context()
        .getEnvironment()
        .addPropertySource(PropertySource.of("changing", changing, 1_000));
  }

  private void refresh(String key, Object value) {
    changing.put(key, value);
    server.context().getEventPublisher(RefreshEvent.class).publishEvent(new RefreshEvent());
  }

  private void useUp() {
    assertThat(server.status("/shapes/news")).isEqualTo(200);
    assertThat(server.status("/shapes/news")).isEqualTo(200);
    assertThat(server.status("/shapes/news")).isEqualTo(429);
  }

  @Test
  void anotherWindowCountsFromZeroAfterAWarning() {
    useUp();
    refresh(NEWS + "rules.2-per-60s.time", "61s");
    assertThat(log.lines())
        .containsExactly(
            "WARN The policy 'news' counts from zero for each subject, since its rules have another shape or key: [SlidingWindowLogRule[name=2-per-61s, count=2, window=PT1M1S]] instead of [SlidingWindowLogRule[name=2-per-60s, count=2, window=PT1M]]. Old and new instances together admit at most what both admit alone");
    useUp();

    log.clear();
    refresh(NEWS + "message", "Slowly");
    assertThat(log.messages()).isEmpty();
    assertThat(server.status("/shapes/news")).isEqualTo(429);
  }

  @ParameterizedTest
  @CsvSource({
    "rules.2-per-60s.count, 3",
    "ban.violations, 9",
    "observe, true",
    "enabled, false",
  })
  void whatGoesOnIsNoWarning(String member, String value) {
    refresh(NEWS + member, value);
    assertThat(server.get("/shapes/news").statusCode()).isEqualTo(200);
    assertThat(log.messages()).isEmpty();
  }

  @Test
  void aRuleMoreCountsFromZero() {
    useUp();
    changing.put(NEWS + "rules[0].count", 2);
    changing.put(NEWS + "rules[0].time", "60s");
    changing.put(NEWS + "rules[1].count", 9);
    refresh(NEWS + "rules[1].time", "1h");
    assertThat(log.messages()).singleElement().asString().contains("'news'", "9-per-3600s");
    useUp();
  }

  @Test
  void theRulesOfATierAreCompared() {
    changing.put("limiter.tiers.pro.news.rules[0].count", 5);
    refresh("limiter.tiers.pro.news.rules[0].time", "60s");
    assertThat(log.messages()).as("the shape of the usual rules").isEmpty();
    refresh("limiter.tiers.pro.news.rules[0].time", "2m");
    assertThat(log.messages())
        .singleElement()
        .asString()
        .contains("'news'", "[name=5-per-120s", " instead of [", "[name=5-per-60s");
  }

  @Test
  void whoIsCountedIsCompared() {
    refresh(NEWS + "limit-type", "global");
    assertThat(log.messages()).singleElement().asString().contains("'news'");
  }

  @Test
  void theDuplicateGuardIsCompared() {
    refresh("limiter.policies.order.duplicate.time", "2m");
    assertThat(log.messages()).singleElement().asString().contains("'order'", "PT2M", "PT1M");
  }
}
