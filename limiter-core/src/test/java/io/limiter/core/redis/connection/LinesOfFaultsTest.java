// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.LoopConnections;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Every line that this process logs, of any library, while Redis or its sentinels are down, silent
 * or reject it.
 */
class LinesOfFaultsTest {

  private static final Duration FAULT = Duration.ofSeconds(1);
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int LOOPS = 4;

  private final SentinelGroup group = SentinelGroup.lone();
  private final MultiThreadIoEventLoopGroup threads =
      new MultiThreadIoEventLoopGroup(LOOPS, NioIoHandler.newFactory());
  private final RecordedLog all = RecordedLog.ofInfo("ROOT");

  @AfterEach
  void close() {
    all.close();
    threads.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    group.close();
  }

  @Test
  void sentinelsThatAreDownAtTheStart() {
    atTheStart(it -> it.sentinels().forEach(RedisProcess::kill), ": Connection refused");
  }

  @Test
  void sentinelsThatAreSilentAtTheStart() {
    atTheStart(
        it -> it.sentinels().forEach(RedisProcess::suspend),
        ": Connection initialization timed out after 500 millisecond(s)");
  }

  @Test
  void sentinelsThatAskForAPassword() {
    atTheStart(
        it -> it.require("default", "s3cret"),
        " answered with the error NOAUTH. The login for sentinels is set by limiter.redis.sentinel");
  }

  private void atTheStart(Consumer<SentinelGroup> fault, String reason) {
    fault.accept(group);
    try (LoopConnections connections = open(group.uri())) {
      await().atMost(PATIENCE).until(() -> !all.lines().isEmpty());

      String sentinel = "127.0.0.1:" + group.sentinels().get(0).port();
      assertStays(
          "WARN No connection to %s yet: no sentinel names the primary: %s%s"
              .formatted(connections.name(), sentinel, reason));
    }
  }

  @Test
  void aRedisThatIsDownAtTheStart() {
    group.servers().get(0).kill();
    try (LoopConnections connections = open(group.servers().get(0).uri())) {
      assertOneLine("WARN No connection to %s yet: Connection refused", connections);
    }
  }

  @Test
  void aRedisThatRejectsThePassword() {
    String uri = group.servers().get(0).uri().replace("//", "//another:s3cret@");
    try (LoopConnections connections = open(uri)) {
      assertOneLine(
          "WARN No connection to %s yet: it answered with the error WRONGPASS", connections);
    }
  }

  @Test
  void aRedisWithoutACommandThatTheLimiterNeeds() {
    try (RedisProcess without = RedisProcess.onFreePort("--rename-command", "EVALSHA", "").start();
        LoopConnections connections = open(without.uri())) {
      assertOneLine(
          "WARN No connection to %s yet: it answered with the error ERR (it does not have EVALSHA, which the limiter needs: use a server that has it, without a proxy; the address of a sentinel begins with redis-sentinel://)",
          connections);
    }
  }

  @Test
  void aClusterThatIsDownAtTheStart() {
    group.servers().get(0).kill();
    RedisURI seed = RedisURI.create(group.servers().get(0).uri());
    try (ClusterConnections connections =
        ClusterConnections.open(List.of(seed), RedisSettings.defaults())) {
      assertOneLine("WARN No connection to %s yet: Connection refused", connections);
    }
  }

  private void assertOneLine(String line, ConnectionSource connections) {
    await().atMost(PATIENCE).until(() -> !all.lines().isEmpty());
    assertStays(line.formatted(connections.name()));
  }

  @Test
  void aNameThatTheSentinelsDoNotKnow() {
    try (LoopConnections connections = open(group.uri() + "-of-others")) {
      await().atMost(PATIENCE).until(() -> !all.lines().isEmpty());

      assertStays(
          "WARN No connection to %s yet: no sentinel names the primary: 127.0.0.1:%s: it knows no primary of this name"
              .formatted(connections.name(), group.sentinels().get(0).port()));
    }
  }

  /** Lettuce logs each connection that it cannot open again, twice in five seconds at most. */
  @Test
  void sentinelsThatAreLostTogetherWithThePrimary() {
    try (LoopConnections connections = open(group.uri())) {
      assertThat(connections.firstAttempt()).succeedsWithin(PATIENCE).isEqualTo(true);
      group.sentinels().forEach(RedisProcess::kill);
      group.servers().forEach(RedisProcess::kill);

      await().during(FAULT).atMost(PATIENCE).until(() -> lines("") <= 2 + 2 * LOOPS);

      assertThat(lines("INFO Connected to Redis master 'limits'")).isEqualTo(1);
      assertThat(lines("WARN Redis master 'limits': no sentinel names the primary: 127.0.0.1:"))
          .isEqualTo(1);
    }
  }

  private long lines(String beginning) {
    return all.lines().stream().filter(line -> line.startsWith(beginning)).count();
  }

  private void assertStays(String line) {
    await()
        .during(FAULT)
        .atMost(PATIENCE)
        .untilAsserted(() -> assertThat(all.lines()).containsExactly(line));
  }

  private LoopConnections open(String uri) {
    List<EventLoop> loops = new ArrayList<>();
    threads.forEach(executor -> loops.add((EventLoop) executor));
    return LoopConnections.open(loops, RedisURI.create(uri), RedisSettings.defaults());
  }
}
