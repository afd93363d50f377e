// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A server that has all slots and takes only keys of one slot in a command, as a proxy of a Redis
 * Cluster does. Its user may not run the commands of a Cluster.
 */
class SlotsOfOneServerTest {

  private static final Duration READY = Duration.ofSeconds(10);
  private static final RedisSettings SETTINGS = new RedisSettings("slots:", READY);

  @TempDir private static Path directory;
  private static RedisProcess server;
  private static RedisClient client;
  private static RedisCommands<String, String> admin;

  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = (EventLoop) group.iterator().next();
  private final RecordedLog log = RecordedLog.of(RedisNodes.class);
  private RedisStore store;

  @BeforeAll
  static void start() {
    server =
        RedisProcess.onFreePort(
                "--cluster-enabled",
                "yes",
                "--cluster-config-file",
                directory.resolve("nodes.conf").toString())
            .start();
    client = RedisClient.create(server.uri());
    admin = client.connect().sync();
    admin.clusterAddSlots(IntStream.range(0, 16_384).toArray());
    while (!admin.clusterInfo().contains("cluster_state:ok")) {
      Thread.onSpinWait();
    }
  }

  @AfterAll
  static void stop() {
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    server.close();
  }

  @BeforeEach
  void forget() {
    admin.flushall();
  }

  @AfterEach
  void close() {
    store.close();
    log.close();
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  /** How it is known that a command may have keys of one slot only. */
  enum Known {
    BY_SETTING,
    BY_INFO,
    BY_CROSSSLOT
  }

  private void open(Known known) {
    RedisSettings settings = known == Known.BY_SETTING ? SETTINGS.withBySlot() : SETTINGS;
    LoopConnections connections =
        LoopConnections.open(List.of(loop), RedisURI.create(server.uri()), settings);
    assertThat(connections.firstAttempt()).succeedsWithin(READY).isEqualTo(true);
    assertThat(connections.isClusterNode()).succeedsWithin(READY).isEqualTo(true);
    store =
        new RedisStore(known == Known.BY_INFO ? connections : new Unknown(connections), settings);
  }

  /** As a proxy that does not state what stands behind it. */
  private record Unknown(ConnectionSource connections) implements ConnectionSource {
    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> commands() {
      return connections.commands();
    }

    @Override
    public void close() {
      connections.close();
    }
  }

  private static LimitRequest call(String policy, long count, Subject subject) {
    return LimitRequest.of(Policy.of(policy, SlidingWindowLogRule.of(count, HOUR)), subject);
  }

  private static LimitRequest of(String user) {
    return call("users", 1, new Subject("user", user));
  }

  private Verdict decide(LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  @ParameterizedTest
  @EnumSource(Known.class)
  void callsOfManySubjectsInOneTurnAreDecidedByRedis(Known known) {
    open(known);
    List<CompletableFuture<Verdict>> turn =
        CompletableFuture.supplyAsync(
                () ->
                    IntStream.range(0, 40)
                        .mapToObj(i -> store.decide(of("user-" + i % 20), Mode.ACQUIRE))
                        .map(decided -> decided.toCompletableFuture())
                        .toList(),
                loop)
            .join();
    List<Verdict> verdicts = turn.stream().map(CompletableFuture::join).toList();

    assertThat(verdicts).extracting(Verdict::decidedBy).containsOnly(DecidedBy.STORE);
    assertThat(verdicts.stream().filter(Verdict::allowed)).hasSize(20);
    assertThat(log.messages())
        .hasSize(known == Known.BY_CROSSSLOT ? 1 : 0)
        .allMatch(message -> message.contains("limiter.redis.slots"));
  }

  @ParameterizedTest
  @EnumSource(Known.class)
  void aCallOfTwoSubjectsTakesFromBothOrFromNone(Known known) {
    open(known);
    LimitRequest everybody = call("everybody", 2, Subject.global());

    assertThat(decide(of("ada").and(everybody)).allowed()).isTrue();
    assertThat(decide(of("ada").and(everybody)).allowed()).isFalse();
    assertThat(decide(of("bob").and(everybody)).allowed()).isTrue();
    assertThat(decide(of("eve").and(everybody)).allowed()).isFalse();
    assertThat(decide(of("eve")).allowed()).isTrue(); // nothing was taken
  }

  @Test
  void unitsOfSeveralSubjectsAreGivenBack() {
    open(Known.BY_CROSSSLOT);
    LimitRequest both = of("ada").and(of("bob"));
    Verdict verdict = decide(both);

    verdict.reservation().refund().toCompletableFuture().join();
    assertThat(decide(both).allowed()).isTrue();
  }

  @Test
  void severalSubjectsAreResetTogether() {
    open(Known.BY_CROSSSLOT);
    LimitRequest both = of("ada").and(of("bob"));
    decide(of("ada"));
    decide(of("bob"));

    store.reset(both.charges().stream().map(Charge::key).toList()).toCompletableFuture().join();
    assertThat(decide(both).allowed()).isTrue();
  }
}
