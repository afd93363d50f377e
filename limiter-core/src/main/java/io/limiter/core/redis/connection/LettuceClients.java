// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.LettuceVersion;
import io.lettuce.core.RedisClient;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.resource.ClientResources;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Creates Lettuce clients that never count a call twice. Lettuce's defaults replay unanswered
 * commands after a reconnect, queue without bound while there is no connection, and wait up to 30 s
 * between attempts to connect.
 */
public final class LettuceClients {

  /** Commands that may wait for a reply on one connection; further ones fail immediately. */
  static final int MAX_QUEUED = 4_096;

  /** Channels report their end after they have closed: threads outlive them by this time. */
  private static final long QUIET_MILLIS = 50;

  private static final long MAX_SHUTDOWN_MILLIS = 1_000;

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);

  private LettuceClients() {}

  /** A client with resources of its own, which {@link #shutdown(RedisClient)} frees. */
  public static RedisClient create() {
    return create(resources());
  }

  static RedisClient create(ClientResources.Builder resources) {
    return client(resources.nettyCustomizer(new WatchedChannel(false)).build());
  }

  public static ClientResources.Builder resources() {
    return ClientResources.builder()
        .reconnectDelay(new ReconnectDelay())
        .addressResolverGroup(NameResolution.SHARED);
  }

  /** A client that runs on one event loop, and shares everything else. */
  static RedisClient onLoop(ClientResources shared, EventLoop loop) {
    return client(
        shared
            .mutate()
            .eventLoopGroupProvider(new OneLoop(loop))
            .nettyCustomizer(new WatchedChannel(true))
            .build());
  }

  /** A client for one node of many, which shares everything but its channel with the others. */
  public static RedisClient ofNode(ClientResources shared) {
    return client(
        shared
            .mutate()
            .eventLoopGroupProvider(shared.eventLoopGroupProvider())
            .nettyCustomizer(new WatchedChannel(false))
            .build());
  }

  private static RedisClient client(ClientResources resources) {
    LettuceCheck.requireAtMostOnce(LettuceVersion.getVersion());
    RedisClient client = new SentinelClient(resources);
    client.setOptions(options());
    return client;
  }

  /**
   * Options under which no command is replayed, queued without bound, or kept alive by Lettuce
   * beyond its deadline.
   */
  static ClientOptions options() {
    return ClientOptions.builder()
        .autoReconnect(true)
        // From Lettuce 6.7.0 on, this also ends commands that were sent and not answered when the
        // connection broke.
        .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(MAX_QUEUED)
        .socketOptions(
            SocketOptions.builder()
                .connectTimeout(CONNECT_TIMEOUT)
                .tcpNoDelay(true)
                .keepAlive(true)
                .build())
        // The store ends its own commands, so Lettuce's timeouts are off.
        .timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build())
        .build();
  }

  /** Closes the client's connections and threads without waiting. */
  public static void shutdown(RedisClient client) {
    var unused =
        client
            .shutdownAsync(0, 0, TimeUnit.MILLISECONDS)
            .whenComplete(
                (done, failure) -> {
                  var ignored =
                      client
                          .getResources()
                          .shutdown(QUIET_MILLIS, MAX_SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS);
                });
  }

  /** Does the same for clients that share their resources. */
  public static void shutdown(Collection<RedisClient> clients, ClientResources shared) {
    CompletableFuture<?>[] ends =
        clients.stream()
            .map(client -> client.shutdownAsync(0, 0, TimeUnit.MILLISECONDS))
            .toArray(CompletableFuture[]::new);
    // Event loops that have ended before cannot report that their channels have closed.
    var unused =
        CompletableFuture.allOf(ends)
            .orTimeout(MAX_SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS)
            .whenComplete(
                (done, failure) -> {
                  clients.forEach(client -> end(client.getResources()));
                  end(shared);
                });
  }

  /** Ends the resources, except threads that belong to others. */
  private static void end(ClientResources resources) {
    var unused = resources.shutdown(QUIET_MILLIS, MAX_SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS);
  }
}
