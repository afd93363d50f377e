// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.resource.ClientResources;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.ConnectionSource.NodeAddress;
import io.limiter.core.redis.LoopConnections;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.redis.connection.ConnectionLog;
import io.limiter.core.redis.connection.LettuceClients;
import io.limiter.core.redis.connection.ManagedConnection.WarmUp;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.testing.Ports;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.helpers.NOPLogger;

/** Nodes leave and connections are closed: nothing of them stays, and nothing reports a leak. */
class LeftNodesTest {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int ROUNDS = 5;

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final RedisURI uri = RedisURI.create(redis.uri());
  private final RedisURI nowhere = RedisURI.create("127.0.0.1", Ports.free());
  private final RecordedLog lettuce = RecordedLog.of("io.lettuce");
  private final RecordedLog netty = RecordedLog.of("io.netty");
  private final List<WeakReference<?>> left = new ArrayList<>();
  private final long before = lettucesThreads();

  @AfterEach
  void close() {
    lettuce.close();
    netty.close();
    redis.close();
  }

  @Test
  void aNodeThatLeavesTakesAllThatIsItsOwnAndLeavesTheOthersTheirs() {
    ClientResources shared = LettuceClients.ofNodes();
    ClusterNode stays = node(shared, uri);
    stays.firstAttempt().toCompletableFuture().join();
    long threadsOfOne = lettucesThreads();
    for (int i = 0; i < ROUNDS; i++) {
      connectAndLeave(shared, uri);
      connectAndLeave(shared, nowhere);
    }

    assertNothingIsLeft();
    assertThat(lettucesThreads()).isLessThanOrEqualTo(threadsOfOne + ROUNDS);
    assertThat(stays.commands().echo(new byte[] {7}).toCompletableFuture())
        .succeedsWithin(PATIENCE);
    stays.renew();
    await().atMost(PATIENCE).until(stays::isOpen);

    LettuceClients.shutdown(List.of(stays.retire()), shared);
    await().atMost(PATIENCE).until(() -> lettucesThreads() <= before);
  }

  @Test
  void closedConnectionsOfEachKindLeaveNothing() {
    MultiThreadIoEventLoopGroup group =
        new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
    List<EventLoop> loops = new ArrayList<>();
    group.forEach(executor -> loops.add((EventLoop) executor));
    RedisSettings settings = RedisSettings.defaults();
    for (RedisURI each : List.of(uri, nowhere)) {
      openAndClose(() -> SharedConnection.open(each, settings));
      openAndClose(() -> LoopConnections.open(loops, each, settings));
      openAndClose(() -> ClusterConnections.open(List.of(each), settings));
    }

    assertNothingIsLeft();
    await().atMost(PATIENCE).until(() -> lettucesThreads() <= before);
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  private void connectAndLeave(ClientResources shared, RedisURI at) {
    ClusterNode node = node(shared, at);
    node.firstAttempt().toCompletableFuture().join();
    left.add(new WeakReference<>(node));
    left.add(new WeakReference<>(node.retire()));
    node.close();
  }

  private static ClusterNode node(ClientResources shared, RedisURI at) {
    RedisClient client = LettuceClients.ofNode(shared);
    DecisionScripts scripts = DecisionScripts.load(List.of());
    return ClusterNode.open(
        new NodeAddress(at.getHost(), at.getPort()),
        client,
        at,
        WarmUp.ofNode(scripts, true, RedisSettings.defaults()::name, new BitSet()),
        new ConnectionLog(NOPLogger.NOP_LOGGER, "a node", 0, ""),
        () -> {});
  }

  private void openAndClose(Supplier<ConnectionSource> open) {
    ConnectionSource opened = open.get();
    opened.firstAttempt().toCompletableFuture().join();
    left.add(new WeakReference<>(opened));
    opened.close();
  }

  private void assertNothingIsLeft() {
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              System.gc();
              assertThat(left).allMatch(one -> one.refersTo(null));
            });
    // What was collected may have a finalizer, which reports.
    await()
        .during(Duration.ofMillis(300))
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              System.gc();
              assertThat(lettuce.messages()).isEmpty();
              assertThat(netty.messages()).isEmpty();
            });
  }

  private static long lettucesThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("lettuce-"))
        .count();
  }
}
