// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.lettuce.core.resource.ClientResources;
import io.limiter.core.redis.connection.LettuceClients;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.NameServer;
import io.limiter.core.testing.RedisProcess;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.resolver.dns.DnsAddressResolverGroup;
import io.netty.resolver.dns.SingletonDnsServerAddressStreamProvider;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Redis is configured by a name, and the name server fails, is silent, or gives another address.
 */
@Tag("faults")
class NamedRedisTest {

  /** The two seconds of the promise, on a machine that is busy with other work. */
  private static final Duration HEALED = Duration.ofSeconds(6);

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final FaultProxy proxy = new FaultProxy(redis.port());
  private final NameServer names = new NameServer();
  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = (EventLoop) group.next();
  private ConnectionSource connection;

  @AfterEach
  void close() {
    connection.close();
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    names.close();
    proxy.close();
    redis.close();
  }

  @Test
  @DisplayName("F31: the name is unknown at the start, and known later")
  void aNameThatIsUnknownIsAskedForAtEachAttempt() {
    openShared();
    assertThat(connection.firstAttempt()).succeedsWithin(HEALED).isEqualTo(false);
    int before = names.questions();
    await().atMost(HEALED).until(() -> names.questions() >= before + 2);

    names.lead(127, 0, 0, 1);

    await().atMost(HEALED).until(this::isConnected);
  }

  @Test
  @DisplayName("F31: the name leads elsewhere, then nowhere, then back")
  void aNameThatLeadsElsewhereIsFollowed() {
    names.lead(127, 0, 0, 1);
    openShared();
    await().atMost(HEALED).until(this::isConnected);

    names.lead(127, 0, 0, 2); // nothing listens there
    awaitThatTheOldAddressIsForgotten();
    proxy.reset();
    await()
        .during(Duration.ofSeconds(1))
        .atMost(HEALED)
        .until(() -> !isConnected() && proxy.open() == 0);
    names.leadNowhere();
    int before = names.questions();
    await().atMost(HEALED).until(() -> names.questions() >= before + 2);
    assertThat(proxy.open()).isZero();

    names.lead(127, 0, 0, 1);
    await().atMost(HEALED).until(this::isConnected);
  }

  @Test
  @DisplayName("F31: the name server is silent")
  void aSilentNameServerHoldsNoEventLoopUp() throws Exception {
    names.lead(127, 0, 0, 1);
    names.fallSilent();
    openOnLoop();

    long slowest = 0;
    for (int turn = 0; turn < 150; turn++) {
      long begun = System.nanoTime();
      loop.submit(() -> {}).get();
      slowest = Math.max(slowest, System.nanoTime() - begun);
      TimeUnit.MILLISECONDS.sleep(10); // the silence is what is tested
    }
    assertThat(names.questions()).isPositive();
    assertThat(isConnected()).isFalse();
    // Who waits for such a server waits for seconds.
    assertThat(Duration.ofNanos(slowest)).isLessThan(Duration.ofSeconds(1));

    names.speak();
    await().atMost(HEALED).until(this::isConnected);
  }

  /** The loop is the server's, and would keep the connection. */
  @Test
  void aConnectionThatOpensAfterTheCloseIsClosed() {
    names.lead(127, 0, 0, 1);
    names.fallSilent();
    openOnLoop();
    await().atMost(HEALED).until(() -> names.questions() > 0);

    connection.close();
    names.speak();

    await().atMost(HEALED).until(() -> proxy.accepted() == 1);
    await()
        .during(Duration.ofMillis(200))
        .atMost(Duration.ofSeconds(1))
        .until(() -> proxy.open() == 0);
  }

  private void openShared() {
    connection =
        SharedConnection.open(LettuceClients.create(resources()), uri(), RedisSettings.defaults());
  }

  private void openOnLoop() {
    connection = LoopConnections.open(List.of(loop), uri(), RedisSettings.defaults(), resources());
  }

  private RedisURI uri() {
    return RedisURI.create("redis.test", proxy.port());
  }

  private ClientResources.Builder resources() {
    return LettuceClients.resources()
        .addressResolverGroup(
            new DnsAddressResolverGroup(
                LettuceClients.NameResolution.builder()
                    .searchDomains(List.of())
                    .nameServerProvider(new SingletonDnsServerAddressStreamProvider(names.at()))));
  }

  private static void awaitThatTheOldAddressIsForgotten() {
    Duration ttl = Duration.ofMillis(1_100);
    await().pollDelay(ttl).until(() -> true);
  }

  private boolean isConnected() {
    try {
      return connection.commands().ping().toCompletableFuture().join().equals("PONG");
    } catch (RuntimeException notNow) {
      return false;
    }
  }
}
