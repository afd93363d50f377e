// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.LettuceVersion;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.EventLoopGroupProvider;
import io.lettuce.core.resource.NettyCustomizer;
import io.lettuce.core.resource.Transports;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.dns.DnsAddressResolverGroup;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Creates Lettuce clients that never count a call twice. Lettuce's defaults repeat unanswered
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

  public static RedisClient create(ClientResources.Builder resources) {
    return client(watched(resources));
  }

  private static ClientResources watched(ClientResources.Builder resources) {
    return resources.nettyCustomizer(new WatchedChannel(false)).build();
  }

  public static ClientResources.Builder resources() {
    return ClientResources.builder()
        .reconnectDelay(new ReconnectDelay())
        .commandLatencyRecorder(CommandLatencyRecorder.disabled())
        .addressResolverGroup(NameResolution.SHARED);
  }

  /**
   * The resources of the clients of many nodes, which {@link #shutdown(Collection,
   * ClientResources)} frees.
   */
  public static ClientResources ofNodes() {
    return watched(resources());
  }

  /** Creates a client for one node of many. Closing it frees everything that it does not share. */
  public static RedisClient ofNode(ClientResources ofNodes) {
    return client(ofNodes);
  }

  /** A client that runs on one event loop, and shares everything else. */
  public static RedisClient onLoop(ClientResources shared, EventLoop loop) {
    return client(
        shared
            .mutate()
            .eventLoopGroupProvider(new OneLoop(loop))
            .nettyCustomizer(new WatchedChannel(true))
            .build());
  }

  private static RedisClient client(ClientResources resources) {
    LettuceCheck.requireAtMostOnce(LettuceVersion.getVersion());
    RedisClient client = new AsyncClient(resources);
    client.setOptions(options());
    return client;
  }

  /**
   * Options under which no command is repeated, queued without bound, or kept alive by Lettuce
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

  /** Asks a server one question, over a connection that then ends. */
  public static <T> CompletionStage<T> ask(
      RedisClient client,
      RedisURI server,
      long millis,
      Function<RedisAsyncCommands<byte[], byte[]>, CompletionStage<T>> question) {
    CompletableFuture<StatefulRedisConnection<byte[], byte[]>> connecting;
    try {
      connecting = client.connectAsync(ByteArrayCodec.INSTANCE, server).toCompletableFuture();
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
    return connecting
        .thenCompose(connection -> question.apply(connection.async()))
        .orTimeout(millis, TimeUnit.MILLISECONDS)
        .whenComplete(
            (answer, failure) -> {
              var unused = connecting.thenAccept(LettuceClients::end);
            });
  }

  private static void end(StatefulRedisConnection<byte[], byte[]> connection) {
    var unused = connection.closeAsync();
  }

  /** Closes the client's connections and threads without waiting. */
  public static void shutdown(RedisClient client) {
    shutdown(List.of(client), client.getResources());
  }

  /** Closes clients that share their resources, without waiting. */
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
                  Stream<ClientResources> own = clients.stream().map(RedisClient::getResources);
                  Stream.concat(own, Stream.of(shared)).distinct().forEach(LettuceClients::end);
                });
  }

  /** Ends the resources, except threads that belong to others. */
  private static void end(ClientResources resources) {
    var unused = resources.shutdown(QUIET_MILLIS, MAX_SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS);
  }

  /**
   * Rejects Lettuce versions with which calls would count twice: before 6.7.0, Lettuce resends
   * unanswered commands after a reconnect, whatever its options are.
   */
  static final class LettuceCheck {

    private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(\\d+)\\..*");
    private static final int FIRST = 607;

    private LettuceCheck() {}

    /**
     * @param version the version that Lettuce reports. An unreadable version is accepted, and so is
     *     null: a service packed into one jar has lost the manifest that contains it
     * @throws IllegalStateException with the version and the remedy
     */
    static void requireAtMostOnce(@Nullable String version) {
      if (version == null) {
        return;
      }
      Matcher matcher = VERSION.matcher(version);
      if (matcher.matches()
          && 100 * Integer.parseInt(matcher.group(1)) + Integer.parseInt(matcher.group(2))
              < FIRST) {
        throw new IllegalStateException(
            "Lettuce %s sends commands again after a reconnect, so calls would count twice: use 6.7.0 or later"
                .formatted(version));
      }
    }
  }

  /**
   * Resolves the names of Redis servers. Each attempt to connect resolves again, over Netty's
   * resolver, which does not block its event loop. An address is cached for a second, whatever its
   * record allows, since it is needed only when the previous one has failed; negative answers are
   * not cached.
   */
  public static final class NameResolution {

    /**
     * Time limit for one name server, so that another can be asked within one attempt to connect.
     * Netty's 5 s would delay every attempt that joins an unanswered query.
     */
    static final Duration PATIENCE = Duration.ofMillis(500);

    /** The connections of all event loops, lost together, share one query. */
    private static final int MAX_TTL_SECONDS = 1;

    /**
     * For all clients: an event loop has one resolver with one socket, which ends with the loop.
     */
    static final AddressResolverGroup<?> SHARED = new DnsAddressResolverGroup(builder());

    private NameResolution() {}

    public static DnsNameResolverBuilder builder() {
      return new DnsNameResolverBuilder()
          .datagramChannelType(Transports.datagramChannelClass())
          .socketChannelType(Transports.socketChannelClass().asSubclass(SocketChannel.class))
          .queryTimeoutMillis(PATIENCE.toMillis())
          .ttl(0, MAX_TTL_SECONDS)
          .negativeTtl(0);
    }
  }

  /** Provides Lettuce with one event loop that belongs to others, and never ends it. */
  static final class OneLoop implements EventLoopGroupProvider {

    private final EventLoop loop;

    OneLoop(EventLoop loop) {
      this.loop = loop;
    }

    /** Lettuce requests a class, but uses the result as any event loop group. */
    @Override
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    public <T extends EventLoopGroup> T allocate(Class<T> type) {
      return (T) loop;
    }

    @Override
    public int threadPoolSize() {
      return 1;
    }

    @Override
    public Future<Boolean> release(
        EventExecutorGroup group, long quietPeriod, long timeout, TimeUnit unit) {
      return ImmediateEventExecutor.INSTANCE.newSucceededFuture(true);
    }

    @Override
    public Future<Boolean> shutdown(long quietPeriod, long timeout, TimeUnit unit) {
      return ImmediateEventExecutor.INSTANCE.newSucceededFuture(true);
    }
  }

  /**
   * The time before a lost connection is retried: random, from 10 ms to a bound, which is 200 ms
   * for the first attempt, twice that for the next, and a second from the fourth on. Lettuce's own
   * jitter leaves the first attempts and half of later delays fixed, so that all clients that lost
   * Redis at once would reconnect at once.
   */
  static final class ReconnectDelay extends Delay {

    private static final long SHORTEST_MILLIS = 10;
    private static final long FIRST_BOUND_MILLIS = 200;
    private static final long LONGEST_MILLIS = 1_000;

    /** Attempts after which the bound stops growing. */
    private static final long MAX_DOUBLINGS = 3;

    @Override
    public Duration createDelay(long attempt) {
      return Duration.ofMillis(
          ThreadLocalRandom.current().nextLong(SHORTEST_MILLIS, bound(attempt) + 1));
    }

    /**
     * @param attempt 1 for the first
     */
    private static long bound(long attempt) {
      long doublings = Math.max(0, Math.min(attempt - 1, MAX_DOUBLINGS));
      return Math.min(LONGEST_MILLIS, FIRST_BOUND_MILLIS << doublings);
    }
  }

  /**
   * Adds the limiter's handlers to each channel that Lettuce opens: at first, and at each
   * reconnect.
   */
  static final class WatchedChannel implements NettyCustomizer {

    private final boolean consolidated;

    /**
     * @param consolidated whether everything written in one turn of the channel's event loop is
     *     sent at its end, instead of packet by packet
     */
    WatchedChannel(boolean consolidated) {
      this.consolidated = consolidated;
    }

    @Override
    public void afterChannelInitialized(Channel opened) {
      opened.pipeline().addFirst(new SilenceWatch());
      CommandHandler commands = opened.pipeline().get(CommandHandler.class);
      opened.pipeline().addLast(UnansweredCommands.of(commands, consolidated));
    }
  }
}
