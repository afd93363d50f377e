// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.DefaultEndpoint;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.redis.wire.EncodedCall;
import io.limiter.core.redis.wire.EncodedStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One connection, opened without blocking and retried, with jitter, until it is open; from then on
 * Lettuce reconnects it. It is used only once it is warm.
 */
public final class ManagedConnection {

  private static final int MAX_RETRY_MILLIS = 1_000;

  /**
   * Time limit for Redis' replies to the handshake of a new connection, by its event loop's clock.
   */
  public static final long HANDSHAKE_MILLIS = 1_500;

  /**
   * Time limit of one attempt, whichever side is late. A silent Redis ends it far earlier: by the
   * connect timeout, the handshake timeout, or {@link SilenceWatch}. These are measured by the
   * event loop, which may be late itself while its classes are loaded.
   */
  private static final long ATTEMPT_MILLIS = 10_000;

  private final RedisClient client;
  private final RedisURI uri;
  private final WarmUp warmUp;
  private final ConnectionLog log;
  private final CompletableFuture<Boolean> firstAttempt = new CompletableFuture<>();
  private volatile @Nullable StatefulRedisConnection<byte[], byte[]> connection;
  private volatile @Nullable SocketAddress address;
  private volatile boolean closed;

  private ManagedConnection(RedisClient client, RedisURI uri, WarmUp warmUp, ConnectionLog log) {
    this.client = client;
    this.uri = uri;
    this.warmUp = warmUp;
    this.log = log;
  }

  /** Begins to connect. */
  public static ManagedConnection open(
      RedisClient client, RedisURI uri, WarmUp warmUp, ConnectionLog log) {
    ManagedConnection connection = new ManagedConnection(client, bounded(uri), warmUp, log);
    client.addListener(connection.reconnects());
    connection.connect();
    return connection;
  }

  /**
   * Loads the scripts into the Redis to which Lettuce has reconnected. Lettuce reports a reconnect
   * on the channel's event loop before the loop can write what other threads send, so the scripts
   * are loaded before the first decision.
   */
  private RedisConnectionStateListener reconnects() {
    return new RedisConnectionStateListener() {
      @Override
      public void onRedisConnected(RedisChannelHandler<?, ?> connected, SocketAddress found) {
        address = found; // after that of a sentinel, if one was asked
        StatefulRedisConnection<byte[], byte[]> mine = connection;
        if (mine == connected) { // not one that is not warm yet
          var unused = warmUp.load(mine.async());
        }
      }
    };
  }

  /**
   * Completes when the first attempt has ended: with true if the connection is warm, otherwise with
   * false. Never fails.
   */
  public CompletionStage<Boolean> firstAttempt() {
    return firstAttempt.copy();
  }

  /** The connection, if it is open now. */
  @Nullable
  public StatefulRedisConnection<byte[], byte[]> ifOpen() {
    StatefulRedisConnection<byte[], byte[]> open = connection;
    return open != null && open.isOpen() ? open : null;
  }

  /** How this Redis is found and set up, for messages. */
  private String topology() {
    return uri.getSentinels().isEmpty()
        ? "stand-alone"
        : "now at " + ConnectionLog.hostAndPort(address);
  }

  private void connect() {
    if (closed) {
      return;
    }
    CompletableFuture<StatefulRedisConnection<byte[], byte[]>> attempt = new CompletableFuture<>();
    var unused =
        attempt
            .orTimeout(attemptMillis(uri), TimeUnit.MILLISECONDS)
            .whenComplete((opened, failure) -> attempted(opened, failure));
    try {
      var unusedPending =
          client
              .connectAsync(ByteArrayCodec.INSTANCE, uri)
              .whenComplete(
                  (opened, failure) -> {
                    if (failure == null) {
                      warm(opened, attempt);
                    } else {
                      attempt.completeExceptionally(failure);
                    }
                  });
    } catch (RuntimeException failure) {
      attempt.completeExceptionally(failure);
    }
  }

  /**
   * Warms up a connection. One that does not become warm in time is closed; so is one that opens
   * too late, or after {@link #close}, since its event loop may be shared and continue to run.
   */
  private void warm(
      StatefulRedisConnection<byte[], byte[]> opened,
      CompletableFuture<StatefulRedisConnection<byte[], byte[]>> attempt) {
    if (closed) {
      attempt.completeExceptionally(new CancellationException("The limiter was closed"));
    }
    var unusedClosing =
        attempt.whenComplete(
            (warm, failure) -> {
              if (failure != null) {
                var unused = opened.closeAsync();
              }
            });
    if (attempt.isDone()) {
      return;
    }
    var unusedWarming =
        warmUp
            .run(opened.async())
            .whenComplete(
                (done, failure) -> {
                  if (failure == null) {
                    attempt.complete(opened);
                  } else {
                    attempt.completeExceptionally(failure);
                  }
                });
  }

  private void attempted(
      @Nullable StatefulRedisConnection<byte[], byte[]> opened, @Nullable Throwable failure) {
    connection = opened;
    firstAttempt.complete(opened != null);
    if (opened != null) {
      log.connected(opened.async(), topology());
    } else if (!closed) {
      log.failed(failure, attemptMillis(uri));
      retry();
    }
  }

  private void retry() {
    int delay = ThreadLocalRandom.current().nextInt(MAX_RETRY_MILLIS / 10, MAX_RETRY_MILLIS);
    try {
      client.getResources().timer().newTimeout(expired -> connect(), delay, TimeUnit.MILLISECONDS);
    } catch (IllegalStateException closing) { // the timer has ended, with the client
      closed = true;
    }
  }

  /** Sentinels that do not answer take time too. */
  private static long attemptMillis(RedisURI uri) {
    return ATTEMPT_MILLIS + uri.getSentinels().size() * AsyncClient.SENTINEL_PATIENCE.toMillis();
  }

  /** Bounds the handshake: Lettuce would wait a minute for it, at each reconnect too. */
  public static RedisURI bounded(RedisURI uri) {
    RedisURI.Builder builder =
        RedisURI.builder(uri).withTimeout(Duration.ofMillis(HANDSHAKE_MILLIS));
    uri.getSentinels().forEach(sentinel -> builder.withSentinel(bounded(sentinel)));
    if (uri.getSentinelMasterId() != null) {
      builder.withSentinelMasterId(uri.getSentinelMasterId());
    }
    return builder.build();
  }

  /**
   * Closes the connection, so that Lettuce reconnects to the server that sentinels or DNS currently
   * name.
   */
  public void renew() {
    if (connection instanceof RedisChannelHandler<?, ?> handler
        && handler.getChannelWriter() instanceof DefaultEndpoint endpoint) {
      endpoint.disconnect();
    }
  }

  /** Stops connecting. The owner of the client closes the client. */
  public void close() {
    closed = true;
  }

  /**
   * Prepares a new connection for decisions: loads the scripts, and decides once, so that no
   * request pays for first-time work such as class loading. It takes no units.
   */
  public static final class WarmUp {

    private static final LimitRequest PROBE =
        LimitRequest.of(
            Policy.of("io.limiter.warm-up", SlidingWindowLogRule.of(1, Duration.ofSeconds(1))),
            Subject.global());

    /** Many more than needed to find a key in one given slot. */
    private static final int MAX_TRIES = 20 * SlotHash.SLOT_COUNT;

    private final DecisionScripts scripts;
    private final Optional<RedisScript> batch;
    private final byte[] key;

    private WarmUp(DecisionScripts scripts, boolean batched, byte[] key) {
      this.scripts = scripts;
      this.batch = batched ? scripts.batch() : Optional.empty();
      this.key = key;
    }

    /**
     * The warm-up of a Redis that has all keys.
     *
     * @param batched whether calls share commands, for which there is a script
     * @param naming the names of keys in Redis
     */
    public static WarmUp of(
        DecisionScripts scripts, boolean batched, Function<StateKey, byte[]> naming) {
      return new WarmUp(scripts, batched, naming.apply(PROBE.charge(0).key()));
    }

    /**
     * The warm-up of a Cluster node that has these slots: it can decide only about a key of its
     * own.
     */
    public static WarmUp ofNode(
        DecisionScripts scripts, boolean batched, Function<StateKey, byte[]> naming, BitSet slots) {
      return new WarmUp(scripts, batched, keyIn(naming, slots));
    }

    private static byte[] keyIn(Function<StateKey, byte[]> naming, BitSet slots) {
      if (!slots.isEmpty()) {
        for (int i = 0; i < MAX_TRIES; i++) {
          byte[] key = naming.apply(new StateKey("limiter.warm-up." + i, ""));
          if (slots.get(SlotHash.getSlot(key))) {
            return key;
          }
        }
      }
      return naming.apply(PROBE.charge(0).key());
    }

    /**
     * Loads the scripts. If Redis rejects that, each is sent as text by the first call that needs
     * it, and whether Redis runs it is seen then. But scripts that were only sent as text may be
     * evicted, from Redis 7.4 on.
     */
    CompletionStage<Void> load(RedisClusterAsyncCommands<byte[], byte[]> commands) {
      return CompletableFuture.allOf(
          Stream.concat(
                  Stream.of(scripts.refund(), scripts.renew(), scripts.hold(), scripts.decide()),
                  batch.stream())
              .map(script -> loaded(commands, script))
              .toArray(CompletableFuture[]::new));
    }

    private static CompletableFuture<String> loaded(
        RedisClusterAsyncCommands<byte[], byte[]> commands, RedisScript script) {
      return commands
          .scriptLoad(script.text())
          .exceptionallyCompose(
              failure ->
                  RedisFailures.unwrap(failure) instanceof RedisCommandExecutionException
                      ? CompletableFuture.completedFuture("")
                      : CompletableFuture.failedFuture(failure))
          .toCompletableFuture();
    }

    CompletionStage<Void> run(RedisClusterAsyncCommands<byte[], byte[]> commands) {
      EncodedCall probe =
          EncodedCall.of(
              PROBE,
              Mode.PEEK,
              own -> key,
              stack -> new EncodedStack(stack, List.of(), () -> 0),
              null);
      RedisScript decide = scripts.decide();
      return load(commands)
          .thenCompose(
              loaded ->
                  commands.<byte[]>evalsha(
                      decide.sha(), ScriptOutputType.VALUE, probe.keys(), probe.arguments()))
          .exceptionallyCompose(
              failure ->
                  RedisFailures.unwrap(failure) instanceof RedisNoScriptException
                      ? commands.<byte[]>eval(
                          decide.text(), ScriptOutputType.VALUE, probe.keys(), probe.arguments())
                      : CompletableFuture.failedFuture(failure))
          .thenAccept(probe::read)
          .exceptionallyCompose(WarmUp::unlessItIsAnothers);
    }

    /** A node that has no slot, or has just lost one, is warm once it has answered. */
    private static CompletionStage<Void> unlessItIsAnothers(Throwable failure) {
      Throwable cause = RedisFailures.unwrap(failure);
      return RedisFailures.isRedirection(cause)
          ? CompletableFuture.completedFuture(null)
          : CompletableFuture.failedFuture(cause);
    }
  }
}
