// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RedisProcess;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalIoHandler;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LoopConnectionsTest {

  private static final Duration HEALS_WITHIN = Duration.ofSeconds(5);
  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("loops", SlidingWindowLogRule.of(1_000, Duration.ofHours(1))),
          Subject.global());

  private final RedisProcess redis = RedisProcess.onFreePort();
  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(3, NioIoHandler.newFactory());
  private final List<EventLoop> loops = new ArrayList<>();
  private LoopConnections connections;
  private RedisStore store;

  LoopConnectionsTest() {
    group.forEach(executor -> loops.add((EventLoop) executor));
  }

  @AfterEach
  void close() {
    if (store != null) {
      store.close();
    }
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    redis.close();
  }

  @Test
  void aDecisionIsAnsweredOnTheLoopThatAskedForIt() {
    open();

    for (EventLoop loop : loops) {
      for (int call = 0; call < 20; call++) {
        assertThat(askedOn(loop)).succeedsWithin(HEALS_WITHIN).isEqualTo(true);
      }
    }
  }

  /** Completes with whether the reply arrived on the same loop. */
  private CompletableFuture<Boolean> askedOn(EventLoop loop) {
    CompletableFuture<Boolean> same = new CompletableFuture<>();
    loop.execute(
        () ->
            store
                .decide(CALL, Mode.ACQUIRE)
                .whenComplete((verdict, failure) -> same.complete(loop.inEventLoop())));
    return same;
  }

  @Test
  void aLoopWithoutAConnectionUsesThoseOfOthers() {
    redis.start();
    open(loops.subList(0, 1));

    assertThat(connections.size()).isEqualTo(1);
    assertThat(askedOn(loops.get(2))).succeedsWithin(HEALS_WITHIN);
  }

  @Test
  void allOfThemAreOpenedAgainAfterALoss() {
    open();

    redis.kill();
    await().atMost(HEALS_WITHIN).until(this::isDisconnected);
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(connections::commands)
        .satisfies(gone -> assertThat(gone.reason()).isEqualTo(FailureReason.DISCONNECTED));

    redis.start();
    for (EventLoop loop : loops) {
      await().atMost(HEALS_WITHIN).until(() -> askedOn(loop).join());
    }
  }

  @Test
  void theyConnectByThemselvesOnceRedisIsThere() {
    connect(loops);
    assertThat(connections.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(false);

    redis.start();
    for (EventLoop loop : loops) {
      await().atMost(HEALS_WITHIN).until(() -> askedOn(loop).join());
    }
  }

  @Test
  void theLoopsOutliveTheConnections() throws Exception {
    open();

    store.close();
    await().atMost(HEALS_WITHIN).until(this::isDisconnected);

    for (EventLoop loop : loops) {
      assertThat(loop.submit(() -> "alive").get(5, TimeUnit.SECONDS)).isEqualTo("alive");
    }
  }

  @Test
  void theyCanBeClosedAfterTheLoopsHaveGone() {
    open();

    assertThat(group.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly(5_000))
        .isTrue();
    store.close();

    await().atMost(HEALS_WITHIN).until(() -> threads("lettuce-") == 0);
  }

  @Test
  void startedConnectionsAreClosedIfALoopHasEnded() {
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly(5_000);

    assertThatExceptionOfType(RejectedExecutionException.class).isThrownBy(() -> connect(loops));

    await().atMost(HEALS_WITHIN).until(() -> threads("lettuce-") == 0);
  }

  private static long threads(String prefix) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.isAlive() && thread.getName().startsWith(prefix))
        .count();
  }

  @Test
  void aLoopOfAnotherTransportDoesNotFit() {
    MultiThreadIoEventLoopGroup local =
        new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
    try {
      assertThat(LoopConnections.LoopTransport.matches(loops.get(0)))
          .succeedsWithin(HEALS_WITHIN)
          .isEqualTo(true);
      assertThat(LoopConnections.LoopTransport.matches(local.next()))
          .succeedsWithin(HEALS_WITHIN)
          .isEqualTo(false);
    } finally {
      local.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  @Test
  void withoutALoopThereIsNothingToConnectOn() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                LoopConnections.open(
                    List.of(), RedisURI.create(redis.uri()), RedisSettings.defaults()))
        .withMessage("No event loops to connect on: name one or more");
  }

  private void open() {
    redis.start();
    open(loops);
  }

  private void open(List<EventLoop> some) {
    connect(some);
    assertThat(connections.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);
  }

  private void connect(List<EventLoop> some) {
    RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, Duration.ofSeconds(5));
    connections = LoopConnections.open(some, RedisURI.create(redis.uri()), settings);
    store = new RedisStore(connections, settings);
  }

  private boolean isDisconnected() {
    try {
      connections.commands();
      return false;
    } catch (StoreException disconnected) {
      return true;
    }
  }
}
