// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.limiter.core.override.OverrideTable;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

/** The log of a start states where limits are counted, before any request. */
class StartLinesTest {

  private static final String ALONE =
      "WARN Neither redis.uri nor redis.uris is set: each instance of this service counts separately";

  private final Logger logger = (Logger) LoggerFactory.getLogger("io.limiter");
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

  @BeforeEach
  void listen() {
    logger.setLevel(Level.INFO);
    lines.start();
    logger.addAppender(lines);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(lines);
    logger.setLevel(null);
  }

  @Test
  void withoutARedisThatEachInstanceCountsForItself() {
    try (ApplicationContext context = ApplicationContext.run(Map.of("spec.name", "none"))) {
      assertThat(context.isRunning()).isTrue();
      assertThat(lines()).containsOnlyOnce(ALONE);
    }
  }

  @Test
  void aDisabledRedisIsNotConnectedToAndTheStartWarns() {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of(
                "spec.name",
                "none",
                "redis.uri",
                "redis://127.0.0.1:1",
                "limiter.redis.enabled",
                " Off "))) {
      assertThat(context.containsBean(ConnectionSource.class)).isFalse();
      assertThat(context.getBean(OverrideTable.class)).isNotNull();
      assertThat(lines())
          .containsOnlyOnce(
              "WARN limiter.redis.enabled is false: each instance of this service counts separately")
          .noneMatch(line -> line.contains("redis.uri"));
    }
  }

  @Test
  void aWordThatIsNeitherOnNorOffStopsTheStart() {
    assertThatThrownBy(
            () -> ApplicationContext.run(Map.of("limiter.redis.enabled", "perhaps")).close())
        .hasStackTraceContaining("limiter.redis.enabled = perhaps: give it true or false");
  }

  @ParameterizedTest
  @CsvSource({
    "redis.uri, localhost:6379, localhost:6379, redis://localhost:6379",
    "redis.uri, 10.0.0.1:6379, 10.0.0.1:6379, redis://10.0.0.1:6379",
    "redis.uri, localhost, localhost, redis://localhost:6379",
    "redis.uri, http://cache:6379, http://cache:6379, redis://localhost:6379",
    "redis.uri, ann:s3cret@cache:6379, ***@cache:6379, redis://localhost:6379",
    "redis.uri, redis://ann:s3cret@ca che, redis://***@ca che, redis://localhost:6379",
    "redis.uri, redis://ann:s3@cret@a b, redis://***@a b, redis://localhost:6379",
    "redis.uris, 'redis://a:1,b:2', b:2, redis://b:2",
    "redis.uris[1], b:2, b:2, redis://b:2",
  })
  void anAddressThatRedisCannotHaveStopsTheStart(
      String setting, String value, String shown, String remedy) {
    Map<String, Object> settings =
        setting.endsWith("]")
            ? Map.of("redis.uris[0]", "redis://a:1", setting, value)
            : Map.of(setting, value);
    String name = setting.equals("redis.uris") ? "redis.uris[1]" : setting;

    assertThat(Starts.mistake(settings))
        .hasMessage(
            "%s = %s: this is not the address of a Redis: write its scheme, host and port, such as %s, or rediss:// for TLS",
            name, shown, remedy)
        .hasNoCause();
  }

  @Test
  void nothingWhereTheLimiterIsSwitchedOff() {
    try (ApplicationContext context = ApplicationContext.run(Map.of("limiter.enabled", false))) {
      assertThat(context.isRunning()).isTrue();
      assertThat(lines()).isEmpty();
    }
  }

  @Test
  void aStartNamesItsRedisAndHowItConnectsToIt() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        ApplicationContext context =
            ApplicationContext.run(
                Map.of(
                    "spec.name",
                    "none",
                    "redis.uri",
                    "redis://127.0.0.1:%d/3?clientName=s3cret".formatted(redis.port()),
                    "limiter.redis.warm-up",
                    "10s",
                    "micronaut.netty.event-loops.default.num-threads",
                    2))) {
      assertThat(context.isRunning()).isTrue();
      await()
          .atMost(Duration.ofSeconds(10))
          .until(() -> lines().stream().anyMatch(line -> line.contains("Connected to")));
      assertThat(lines())
          .containsOnlyOnce(
              "INFO Connected to Redis at 127.0.0.1:%d: stand-alone, 2 connections, each on an event loop of its own"
                  .formatted(redis.port()))
          .doesNotContain(ALONE);
      assertThat(String.join("\n", lines())).doesNotContain("s3cret");
    }
  }

  @Test
  void aStartWarnsThatNamedServersAreNotUsed() {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      String uri = "redis://127.0.0.1:" + redis.port();
      String line =
          "WARN Neither redis.uri nor redis.uris is set. The limiter ignores the servers under redis.servers and uses Redis at localhost:6379: set redis.uri to choose the server";
      try (ApplicationContext context =
          ApplicationContext.run(Map.of("spec.name", "none", "redis.servers.a.uri", uri))) {
        assertThat(context.isRunning()).isTrue();
        assertThat(lines()).containsOnlyOnce(line);
      }
      lines.list.clear();
      try (ApplicationContext context =
          ApplicationContext.run(
              Map.of("spec.name", "none", "redis.servers.a.uri", uri, "redis.uri", uri))) {
        assertThat(context.isRunning()).isTrue();
        assertThat(lines()).noneMatch(text -> text.contains("redis.servers"));
      }
    }
  }

  private List<String> lines() {
    return List.copyOf(lines.list).stream()
        .map(line -> line.getLevel() + " " + line.getFormattedMessage())
        .toList();
  }
}
