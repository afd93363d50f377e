// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * One connection for all threads, opened without blocking and tried again, with jitter, until it
 * stands; from then on Lettuce keeps it up. It is handed out only once it is warm.
 */
public final class SharedConnection implements ConnectionSource {

  private static final Logger LOG = LoggerFactory.getLogger(SharedConnection.class);
  private static final int MAX_RETRY_MILLIS = 1_000;

  /** Time for one attempt, from the first packet to a warm connection. */
  private static final long ATTEMPT_MILLIS = 1_500;

  private final RedisClient client;
  private final RedisURI uri;
  private final WarmUp warmUp;
  private final CompletableFuture<Boolean> firstAttempt = new CompletableFuture<>();
  private volatile @Nullable StatefulRedisConnection<byte[], byte[]> connection;
  private volatile boolean failing;
  private volatile boolean closed;

  private SharedConnection(RedisClient client, RedisURI uri, WarmUp warmUp) {
    this.client = client;
    this.uri = uri;
    this.warmUp = warmUp;
  }

  /**
   * Begins to connect.
   *
   * @param client made by {@link RedisClients#create}; closed with the connection
   */
  public static SharedConnection open(RedisClient client, RedisURI uri, RedisSettings settings) {
    SharedConnection shared =
        new SharedConnection(client, bounded(uri), new WarmUp(settings, RedisScripts.load()));
    shared.connect();
    return shared;
  }

  /**
   * Completes when the first attempt has ended: with true if the connection is warm, else with
   * false. Never fails.
   */
  public CompletionStage<Boolean> firstAttempt() {
    return firstAttempt.copy();
  }

  private void connect() {
    if (closed) {
      return;
    }
    CompletableFuture<StatefulRedisConnection<byte[], byte[]>> attempt = new CompletableFuture<>();
    var unused =
        attempt
            .orTimeout(ATTEMPT_MILLIS, TimeUnit.MILLISECONDS)
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
    } catch (RuntimeException refused) {
      attempt.completeExceptionally(refused);
    }
  }

  /** A connection that does not become warm in time is closed, also one that opens too late. */
  private void warm(
      StatefulRedisConnection<byte[], byte[]> opened,
      CompletableFuture<StatefulRedisConnection<byte[], byte[]>> attempt) {
    var unusedClosing =
        attempt.whenComplete(
            (warm, failure) -> {
              if (failure != null) {
                var unused = opened.closeAsync();
              }
            });
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
    if (opened == null) {
      // Said once, not at every attempt; the fallback says how many decisions it has taken.
      LOG.atLevel(failing ? Level.DEBUG : Level.WARN)
          .log("No connection to Redis yet: {}", failure == null ? "" : words(failure));
      failing = true;
      retry();
    } else if (failing) {
      LOG.info("Connected to Redis");
    }
  }

  private void retry() {
    int delay = ThreadLocalRandom.current().nextInt(MAX_RETRY_MILLIS / 10, MAX_RETRY_MILLIS);
    if (!closed) {
      client.getResources().timer().newTimeout(expired -> connect(), delay, TimeUnit.MILLISECONDS);
    }
  }

  /** Lettuce would wait a minute for a handshake, at each reconnect too. */
  private static RedisURI bounded(RedisURI uri) {
    return RedisURI.builder(uri).withTimeout(Duration.ofMillis(ATTEMPT_MILLIS)).build();
  }

  private static String words(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    if (root instanceof TimeoutException) {
      return "it was not ready within " + ATTEMPT_MILLIS + " ms";
    }
    return root instanceof RedisCommandExecutionException
        ? String.valueOf(RedisFailures.translate(root).getMessage())
        : String.valueOf(root.getMessage());
  }

  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    StatefulRedisConnection<byte[], byte[]> open = connection;
    if (open == null || !open.isOpen()) {
      throw new StoreException(FailureReason.DISCONNECTED, "Redis is not connected", null);
    }
    return open.async();
  }

  @Override
  public void close() {
    closed = true;
    RedisClients.shutdown(client);
  }
}
