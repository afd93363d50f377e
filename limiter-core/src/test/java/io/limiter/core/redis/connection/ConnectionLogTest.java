// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisURI;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.LoopConnections;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The log messages about connections: which Redis, and how it is connected. */
class ConnectionLogTest {

  private static final Duration HEALS_WITHIN = Duration.ofSeconds(10);
  private static final String USER = "us3r-of-redis";
  private static final String PASSWORD = "s3cret-of-redis";

  private final RecordedLog log = RecordedLog.ofInfo("io.limiter.core.redis");
  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(3, NioIoHandler.newFactory());

  /** The first connection of a JVM loads so many classes that a busy machine may miss its bound. */
  @BeforeAll
  static void loadClasses() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        SharedConnection connection = shared(uri(redis))) {
      assertThat(connection.firstAttempt()).succeedsWithin(HEALS_WITHIN);
    }
  }

  @AfterEach
  void stopListening() {
    log.close();
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "redis://localhost | Redis at localhost:6379",
        "redis://10.0.0.5:6380/3 | Redis at 10.0.0.5:6380",
        "rediss://app:s3cret@redis.example:6390?clientName=x | Redis at redis.example:6390",
        "redis://[2001:db8::1]:6379 | Redis at [2001:db8::1]:6379",
        "redis-socket://s3cret@/var/run/s3cret/redis.sock | Redis at a Unix domain socket",
        "redis-sentinel://s3cret@a:26380,b#limits | Redis master 'limits' via sentinels a:26380, b:26379",
        "redis-sentinel://app:s3cret@a#limits | Redis master 'limits' via sentinel a:26379",
      })
  void aRedisIsNamedByItsAddressAndNothingElse(String uri, String name) {
    assertThat(ConnectionSource.name(RedisURI.create(uri))).isEqualTo(name);
  }

  @Test
  void aGoodStartOverOneConnectionIsOneLine() {
    try (RedisProcess redis = withUser(PASSWORD);
        SharedConnection connection = shared(asUser(redis))) {
      assertThat(connection.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);

      assertThat(connection.name()).isEqualTo("Redis at 127.0.0.1:" + redis.port());
      awaitLines(
          "INFO Connected to %s: stand-alone, one connection for all threads"
              .formatted(connection.name()));
    }
  }

  @Test
  void aGoodStartOverEventLoopsIsOneLine() {
    List<EventLoop> loops = new ArrayList<>();
    group.forEach(executor -> loops.add((EventLoop) executor));
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        LoopConnections connections =
            LoopConnections.open(loops, uri(redis), RedisSettings.defaults())) {
      assertThat(connections.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);

      assertThat(connections.name()).isEqualTo("Redis at 127.0.0.1:" + redis.port());
      awaitLines(
          "INFO Connected to %s: stand-alone, 3 connections, each on an event loop of its own"
              .formatted(connections.name()));
    }
  }

  @Test
  void aGoodStartWithSentinelsNamesTheMasterToo() {
    try (SentinelGroup sentinels = SentinelGroup.start();
        SharedConnection connection = shared(RedisURI.create(sentinels.uri()))) {
      assertThat(connection.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);

      assertThat(connection.name())
          .matches("Redis master 'limits' via sentinels (127\\.0\\.0\\.1:\\d+(, |$)){3}");
      awaitLines(
          "INFO Connected to %s: now at 127.0.0.1:%s, one connection for all threads"
              .formatted(connection.name(), sentinels.primary().port()));
    }
  }

  @Test
  void aGoodStartWithAClusterCountsItsPrimaries() {
    try (ClusterGroup cluster = ClusterGroup.withoutReplicas();
        ClusterConnections connections =
            ClusterConnections.open(
                cluster.uris().stream().map(RedisURI::create).toList(), RedisSettings.defaults())) {
      assertThat(connections.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);

      assertThat(connections.name()).matches("Redis Cluster at (127\\.0\\.0\\.1:\\d+(, |$))+");
      awaitLines(
          "INFO Connected to %s: 3 primaries, one connection to each"
              .formatted(connections.name()));
    }
  }

  @Test
  void logNamesRedisThatIsUnavailableAtTheStartAndWhenItConnects() {
    try (RedisProcess redis = RedisProcess.onFreePort();
        SharedConnection connection = shared(uri(redis))) {
      assertThat(connection.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(false);

      redis.start();

      await().atMost(HEALS_WITHIN).until(() -> log.lines().size() >= 2);
      assertThat(log.lines())
          .satisfiesExactly(
              missed ->
                  assertThat(missed)
                      .startsWith("WARN No connection to %s yet: ".formatted(connection.name())),
              there ->
                  assertThat(there)
                      .isEqualTo(
                          "INFO Connected to %s: stand-alone, one connection for all threads"
                              .formatted(connection.name())));
    }
  }

  @Test
  void anErrorReplyIsReportedByItsCodeAlone() {
    try (RedisProcess redis = withUser("another");
        SharedConnection connection = shared(asUser(redis))) {
      assertThat(connection.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(false);

      awaitLines(
          "WARN No connection to %s yet: it answered with the error WRONGPASS"
              .formatted(connection.name()));
    }
  }

  @Test
  void aUriThatLettuceQuotesLosesItsUser() {
    new ConnectionLog(log.logger(), "Redis at a:6379", 1, "one connection")
        .failed(
            new RedisConnectionException(
                "Cannot connect to redis-sentinel://%s:****@a:26379,b:26379?sentinelMasterId=x"
                    .formatted(USER)),
            1_500);

    awaitLines(
        "WARN No connection to Redis at a:6379 yet: Cannot connect to redis-sentinel://a:26379,b:26379?sentinelMasterId=x");
  }

  /** Such as that of a connection that the server closes during its handshake. */
  @Test
  void aFailureWithoutAMessageIsReportedByItsKind() {
    new ConnectionLog(log.logger(), "Redis at a:6379", 1, "one connection")
        .failed(new ClosedChannelException(), 1_500);

    awaitLines("WARN No connection to Redis at a:6379 yet: ClosedChannelException");
  }

  /** The first handshake with TLS loads what is trusted, and may take longer than an attempt. */
  @Test
  void theReasonIsReportedThoughTheFirstAttemptTookTooLong() {
    ConnectionLog connections =
        new ConnectionLog(log.logger(), "Redis at a:6379", 1, "one connection");
    for (int i = 0; i < 2; i++) {
      connections.failed(new RedisCommandTimeoutException("timed out"), 1_500);
    }
    for (int i = 0; i < 2; i++) {
      connections.failed(new SSLHandshakeException("PKIX path building failed"), 1_500);
      connections.failed(new TimeoutException(), 1_500);
    }

    awaitLines(
        "WARN No connection to Redis at a:6379 yet: timed out",
        "WARN No connection to Redis at a:6379 yet: PKIX path building failed");
  }

  private static SharedConnection shared(RedisURI uri) {
    return SharedConnection.open(uri, RedisSettings.defaults());
  }

  private static RedisURI uri(RedisProcess redis) {
    return RedisURI.create("127.0.0.1", redis.port());
  }

  private static RedisProcess withUser(String password) {
    RedisProcess redis = RedisProcess.onFreePort().start();
    RedisClient admin = RedisClient.create(redis.uri());
    try (var connection = admin.connect()) {
      connection
          .sync()
          .aclSetuser(
              USER, AclSetuserArgs.Builder.on().addPassword(password).allKeys().allCommands());
    } finally {
      admin.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
    return redis;
  }

  private static RedisURI asUser(RedisProcess redis) {
    return RedisURI.builder(uri(redis)).withAuthentication(USER, PASSWORD.toCharArray()).build();
  }

  private void awaitLines(String... expected) {
    await()
        .atMost(HEALS_WITHIN)
        .untilAsserted(() -> assertThat(log.lines()).containsExactly(expected));
    assertThat(String.join("\n", log.lines())).doesNotContain(PASSWORD, USER);
  }
}
