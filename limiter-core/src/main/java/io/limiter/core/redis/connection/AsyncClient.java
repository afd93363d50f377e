// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisAsyncCommandsImpl;
import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisReactiveCommandsImpl;
import io.lettuce.core.RedisURI;
import io.lettuce.core.StatefulRedisConnectionImpl;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.reactive.RedisReactiveCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.json.JsonParser;
import io.lettuce.core.output.SocketAddressOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.PushHandler;
import io.lettuce.core.protocol.RedisCommand;
import io.lettuce.core.resource.ClientResources;
import io.limiter.core.util.LogThrottle;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/**
 * Opens connections whose commands are {@linkplain TimedCommand timed}, and whose synchronous and
 * reactive commands are created lazily. The limiter does not use those, and the proxy behind the
 * synchronous ones, with hundreds of methods, took a quarter of a service's startup time.
 *
 * <p>The client asks another sentinel first at each attempt to connect, beginning with the first in
 * the configuration. Lettuce always uses the first sentinel that answers: one that is wrong, and
 * reports a primary that is dead or a replica now, would keep the limiter from Redis for as long as
 * it is wrong, whatever the others report. It also logs a warning for each sentinel that does not
 * answer, at each attempt of each connection. URIs without sentinels are handled by Lettuce
 * unchanged.
 */
final class AsyncClient extends RedisClient {

  /** Time limit for the handshake with a sentinel; then the next is asked. */
  static final Duration SENTINEL_PATIENCE = Duration.ofMillis(500);

  /** Time limit for a sentinel's answer: its name, the connection, the handshake, the reply. */
  private static final long SENTINEL_MILLIS = 2_000;

  private static final Logger LOG = LoggerFactory.getLogger(AsyncClient.class);

  /** One for all clients, which lose their connections together. */
  private static final LogThrottle UNNAMED = new LogThrottle();

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
    if (uri.getSentinels().isEmpty()) {
      return super.getSocketAddress(uri);
    }
    AtomicReference<@Nullable SocketAddress> last = new AtomicReference<>();
    return Mono.fromCompletionStage(() -> primary(uri))
        .doOnNext(last::set)
        .onErrorResume(failure -> instead(uri.getSentinelMasterId(), last.get(), failure));
  }

  private static Mono<SocketAddress> instead(
      String name, @Nullable SocketAddress last, Throwable failure) {
    if (last == null) {
      return Mono.error(failure);
    }
    long times = UNNAMED.count();
    if (times > 0) {
      LOG.warn(
          "Redis master '{}': {}. Trying its last address, {}. Attempts since the last message: {}",
          name,
          failure.getMessage(),
          ConnectionLog.hostAndPort(last),
          times);
    }
    return Mono.just(last);
  }

  /** Asks one sentinel after another until one names the primary. */
  private CompletionStage<SocketAddress> primary(RedisURI uri) {
    String name = uri.getSentinelMasterId();
    List<String> failures = new ArrayList<>();
    CompletionStage<SocketAddress> found = CompletableFuture.failedFuture(new RedisException(""));
    for (RedisURI sentinel : inTurn(uri.getSentinels(), attempts.getAndIncrement())) {
      found =
          found.exceptionallyCompose(
              before ->
                  LettuceClients.ask(this, sentinel, SENTINEL_MILLIS, one -> named(one, name))
                      .whenComplete(
                          (answer, failure) -> {
                            if (failure != null) {
                              failures.add(words(sentinel, failure));
                            }
                          }));
    }
    return found.exceptionallyCompose(
        none ->
            CompletableFuture.failedFuture(
                new RedisConnectionException(
                    "no sentinel names the primary: " + String.join("; ", failures))));
  }

  private static String words(RedisURI sentinel, Throwable failure) {
    String asked = ConnectionLog.hostAndPort(sentinel.getHost(), sentinel.getPort());
    String words = ConnectionLog.words(asked, failure, SENTINEL_MILLIS);
    return (words.startsWith(asked) ? words : asked + ": " + words)
        + (RedisFailures.isLogin(ConnectionLog.root(failure))
            ? ". The login for sentinels is set by limiter.redis.sentinel"
            : "");
  }

  private CompletionStage<SocketAddress> named(
      RedisAsyncCommands<byte[], byte[]> sentinel, String name) {
    return sentinel
        .dispatch(
            CommandType.SENTINEL,
            new SocketAddressOutput<>(ByteArrayCodec.INSTANCE),
            new CommandArgs<>(ByteArrayCodec.INSTANCE).add("get-master-addr-by-name").add(name))
        .thenApply(
            answer -> {
              if (!(answer instanceof InetSocketAddress named)) {
                throw new RedisException("it knows no primary of this name");
              }
              return getResources()
                  .socketAddressResolver()
                  .resolve(RedisURI.create(named.getHostString(), named.getPort()));
            });
  }

  /** Each sentinel gets less time than Redis, so that another can be asked. */
  static List<RedisURI> inTurn(List<RedisURI> sentinels, int first) {
    List<RedisURI> turn =
        new ArrayList<>(
            sentinels.stream()
                .map(one -> RedisURI.builder(one).withTimeout(SENTINEL_PATIENCE).build())
                .toList());
    Collections.rotate(turn, -first);
    return turn;
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
