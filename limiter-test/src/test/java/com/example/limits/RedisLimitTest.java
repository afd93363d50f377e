// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.DecidedBy;
import io.limiter.core.testing.RedisFixture;
import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.test.support.TestPropertyProvider;
import jakarta.inject.Inject;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** With a Redis. */
@LimitTest(store = LimitTest.Store.REDIS)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RedisLimitTest implements TestPropertyProvider {

  static final String PREFIX = "kit-of-tests:";

  private final RedisClient redis = RedisClient.create(RedisFixture.uri());
  private StatefulRedisConnection<String, String> connection;
  private Set<String> before;

  @Inject
  @Client("/")
  HttpClient client;

  @Inject Limits limits;
  @Inject TestClock clock;
  @Inject CodeService codes;

  @Override
  public Map<String, String> getProperties() {
    return Map.of(
        "redis.uri",
        RedisFixture.uri(),
        "limiter.redis.key-prefix",
        PREFIX,
        "limiter.redis.deadline",
        "10s");
  }

  @BeforeAll
  void connect() {
    connection = redis.connect();
    connection.sync().setex(PREFIX + "of-others", 600, "kept");
    before = Set.copyOf(keys()); // and by which the connection was tried
  }

  @AfterAll
  void disconnect() {
    redis.shutdown();
  }

  private List<String> keys() {
    return connection.sync().keys(PREFIX + "*");
  }

  private Callable<?> read() {
    return () -> client.toBlocking().exchange("/articles");
  }

  @RepeatedTest(2)
  void redisCountsAndEachTestBeginsAtZero() {
    assertThat(keys()).isSubsetOf(before).contains(PREFIX + "of-others");

    Limits.DeniedCalls denied = limits.assertAdmits(10, read()).thenDenies(3).withStatus(429);

    assertThat(denied.verdict().decidedBy()).isIn(DecidedBy.STORE, DecidedBy.DENY_CACHE);
    assertThat(keys()).anyMatch(key -> !before.contains(key));
  }

  @Test
  void moreKeysThanOneCommandTakesAreForgotten() {
    for (int i = 0; i < 1_100; i++) {
      codes.send("" + i);
    }
    assertThat(keys()).hasSizeGreaterThan(1_100);
    limits.reset();
    assertThat(keys()).isSubsetOf(before).contains(PREFIX + "of-others");
  }

  @Test
  void theClockCannotBeDriven() {
    String why =
        "The clock of Redis cannot be set: test what depends on the time in a class with @LimitTest, whose store is in memory, and use store = REDIS only for what depends on Redis";
    assertThatThrownBy(() -> clock.advance(java.time.Duration.ofSeconds(1)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage(why);
    assertThatThrownBy(() -> clock.set(TestClock.START)).hasMessage(why);
    assertThatThrownBy(clock::now).hasMessage(why);
  }
}
