// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** {@code limiter.redis.key-secret}: its effect on keys, and that it is never exposed. */
class KeySecretTest {

  private static final String SECRET = "sixteen or more random characters";
  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("sms", SlidingWindowLogRule.of(2, Duration.ofMinutes(5))),
          new Subject("user", "ada"));

  private final String prefix = "test:" + UUID.randomUUID().toString().substring(0, 8) + ":";
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
  private final Logger ours = (Logger) LoggerFactory.getLogger("io.limiter");

  @BeforeEach
  void listen() {
    logged.start();
    root.addAppender(logged);
    ours.setLevel(Level.INFO);
  }

  @AfterEach
  void stopListening() {
    ours.setLevel(null);
    root.detachAppender(logged);
  }

  private ApplicationContext instance(String secret) {
    Map<String, Object> settings =
        new HashMap<>(
            Map.of(
                "spec.name", "none",
                "redis.uri", RedisFixture.uri(),
                "limiter.redis.key-prefix", prefix,
                "limiter.redis.deadline", "10s",
                "limiter.redis.start-timeout", "10s"));
    if (!secret.isEmpty()) {
      settings.put("limiter.redis.key-secret", secret);
    }
    return ApplicationContext.run(settings);
  }

  private static Verdict call(ApplicationContext instance) {
    Verdict verdict = instance.getBean(Limiter.class).acquire(CALL).toCompletableFuture().join();
    assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.STORE);
    return verdict;
  }

  private List<String> messagesAboutTheSecret() {
    return List.copyOf(logged.list).stream()
        .map(ILoggingEvent::getFormattedMessage)
        .filter(message -> message.contains("key-secret"))
        .toList();
  }

  @Test
  void instancesShareALimitIfTheyShareTheSecret() {
    try (ApplicationContext first = instance(SECRET);
        ApplicationContext second = instance(SECRET);
        ApplicationContext other = instance(SECRET + "!");
        ApplicationContext without = instance("")) {
      assertThat(call(first).rules().get(0).remaining()).isEqualTo(1);
      assertThat(call(second).rules().get(0).remaining()).isZero();
      assertThat(call(other).rules().get(0).remaining()).isEqualTo(1);
      assertThat(call(without).rules().get(0).remaining()).isEqualTo(1);
      first.getBean(Limiter.class).reset(CALL).toCompletableFuture().join();
      other.getBean(Limiter.class).reset(CALL).toCompletableFuture().join();
      without.getBean(Limiter.class).reset(CALL).toCompletableFuture().join();
    }
  }

  @Test
  void aStartWithoutASecretWarnsOnce() {
    try (ApplicationContext unused = instance("")) {
      assertThat(messagesAboutTheSecret())
          .hasSize(1)
          .allMatch(line -> line.contains("can test guesses of subjects"));
    }
  }

  @Test
  void aStartWithASecretDoesNotLogIt() {
    try (ApplicationContext instance = instance(SECRET)) {
      assertThat(messagesAboutTheSecret()).isEmpty();
      assertThat(logged.list).noneMatch(event -> event.getFormattedMessage().contains(SECRET));
      assertThat(instance.getBean(RedisSettings.class).toString()).doesNotContain(SECRET);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "fifteen letters", "zzzzzzzzzzzzzzzzzzzz"})
  void anInvalidSecretStopsTheStartAndIsNotQuoted(String text) {
    Throwable mistake =
        Starts.mistake(
            Map.of("redis.uri", "redis://127.0.0.1:1", "limiter.redis.key-secret", text));

    assertThat(mistake)
        .hasMessageContaining("limiter.redis.key-secret: ")
        .hasMessageContaining("use 16 or more random characters");
    for (Throwable each = mistake; !text.isEmpty() && each != null; each = each.getCause()) {
      assertThat(each.getMessage()).doesNotContain(text);
    }
  }
}
