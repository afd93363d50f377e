// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisAsyncCommandsImpl;
import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisReactiveCommandsImpl;
import io.lettuce.core.RedisURI;
import io.lettuce.core.StatefulRedisConnectionImpl;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.reactive.RedisReactiveCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.json.JsonParser;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.PushHandler;
import io.lettuce.core.protocol.RedisCommand;
import io.lettuce.core.resource.ClientResources;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Opens connections whose commands are {@linkplain TimedCommand timed}, and whose synchronous and
 * reactive commands are created lazily. The limiter does not use those, and the proxy behind the
 * synchronous ones, with hundreds of methods, took a quarter of a service's startup time.
 *
 * <p>The client asks another sentinel first at each attempt to connect, beginning with the first in
 * the configuration. Lettuce always uses the first sentinel that answers: one that is wrong, and
 * reports a primary that is dead or a replica now, would keep the limiter from Redis for as long as
 * it is wrong, whatever the others report. URIs without sentinels are handled by Lettuce unchanged.
 */
final class AsyncClient extends RedisClient {

  /** Time limit for a connection to a sentinel; then the next is asked. */
  static final Duration SENTINEL_PATIENCE = Duration.ofMillis(500);

  private final AtomicInteger attempts = new AtomicInteger();

  AsyncClient(ClientResources resources) {
    super(resources, new RedisURI());
  }

  @Override
  protected <K, V> StatefulRedisConnectionImpl<K, V> newStatefulRedisConnection(
      RedisChannelWriter writer, PushHandler pushes, RedisCodec<K, V> codec, Duration timeout) {
    return new AsyncConnection<>(writer, pushes, codec, timeout, getOptions().getJsonParser());
  }

  /** Subscribed to at the first attempt, and again at each reconnect. */
  @Override
  protected Mono<SocketAddress> getSocketAddress(RedisURI uri) {
    return uri.getSentinels().isEmpty()
        ? super.getSocketAddress(uri)
        : Mono.defer(() -> super.getSocketAddress(rotated(uri, attempts.getAndIncrement())));
  }

  static RedisURI rotated(RedisURI uri, int places) {
    List<RedisURI> sentinels = new ArrayList<>(uri.getSentinels());
    Collections.rotate(sentinels, -places);
    RedisURI.Builder builder = RedisURI.builder(uri);
    sentinels.forEach(sentinel -> builder.withSentinel(RedisURI.builder(sentinel).build()));
    if (uri.getSentinelMasterId() != null) {
      builder.withSentinelMasterId(uri.getSentinelMasterId());
    }
    RedisURI rotated = builder.build();
    // The builder has given the sentinels the time limit for Redis.
    rotated.getSentinels().forEach(sentinel -> sentinel.setTimeout(SENTINEL_PATIENCE));
    return rotated;
  }

  private static final class AsyncConnection<K, V> extends StatefulRedisConnectionImpl<K, V> {

    private volatile @Nullable RedisCommands<K, V> blocking;
    private volatile @Nullable RedisReactiveCommands<K, V> publishing;

    AsyncConnection(
        RedisChannelWriter writer,
        PushHandler pushes,
        RedisCodec<K, V> codec,
        Duration timeout,
        Supplier<JsonParser> parser) {
      super(writer, pushes, codec, timeout, parser);
    }

    /** Called by the super constructor: this class's fields are not set yet. */
    @Override
    protected RedisAsyncCommandsImpl<K, V> newRedisAsyncCommandsImpl() {
      return new TimedCommandsApi<>(this, getCodec());
    }

    /** Called by the super constructor. */
    @Override
    @SuppressWarnings("NullAway")
    protected RedisCommands<K, V> newRedisSyncCommandsImpl() {
      return null;
    }

    /** Called by the super constructor. */
    @Override
    @SuppressWarnings("NullAway")
    protected RedisReactiveCommandsImpl<K, V> newRedisReactiveCommandsImpl() {
      return null;
    }

    @Override
    public RedisCommands<K, V> sync() {
      RedisCommands<K, V> made = blocking;
      if (made == null) {
        made = super.newRedisSyncCommandsImpl();
        blocking = made;
      }
      return made;
    }

    @Override
    public RedisReactiveCommands<K, V> reactive() {
      RedisReactiveCommands<K, V> made = publishing;
      if (made == null) {
        made = super.newRedisReactiveCommandsImpl();
        publishing = made;
      }
      return made;
    }
  }

  /** Commands that are timed. */
  static final class TimedCommandsApi<K, V> extends RedisAsyncCommandsImpl<K, V> {

    private final StatefulRedisConnection<K, V> connection;

    TimedCommandsApi(StatefulRedisConnection<K, V> connection, RedisCodec<K, V> codec) {
      super(connection, codec);
      this.connection = connection;
    }

    @Override
    public <T> AsyncCommand<K, V, T> dispatch(RedisCommand<K, V, T> command) {
      TimedCommand<K, V, T> timed = new TimedCommand<>(command);
      RedisCommand<K, V, T> unused = connection.dispatch(timed);
      return timed;
    }
  }
}
