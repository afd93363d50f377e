// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.redis.connection.ConnectionSource;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A store that is used once the first attempt to connect has ended. Earlier decisions, of code that
 * runs while the application starts, wait for that attempt for a bounded time, without blocking a
 * thread. Otherwise memory would decide them, as if Redis were away.
 */
final class ConnectingStore implements LimitStore {

  private final LimitStore store;

  /** The first attempt; null once it has ended. */
  private volatile @Nullable CompletableFuture<Void> connecting;

  /**
   * @param longest longest time for which a decision waits
   */
  ConnectingStore(LimitStore store, ConnectionSource connections, Duration longest) {
    this.store = store;
    this.connecting =
        connections
            .firstAttempt()
            .<Void>handle((warm, failure) -> null)
            .toCompletableFuture()
            .completeOnTimeout(null, longest.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** The first attempt; null if it has ended. */
  private @Nullable CompletableFuture<Void> pending() {
    CompletableFuture<Void> first = connecting;
    if (first != null && first.isDone()) {
      connecting = null;
      return null;
    }
    return first;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    CompletableFuture<Void> first = pending();
    return first == null
        ? store.decide(request, mode)
        : first.thenCompose(ended -> store.decide(request, mode));
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    CompletableFuture<Void> first = pending();
    return first == null ? store.reset(keys) : first.thenCompose(ended -> store.reset(keys));
  }

  @Override
  public void close() {
    store.close();
  }
}
