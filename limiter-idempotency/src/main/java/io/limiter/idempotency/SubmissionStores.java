// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.redis.RedisSettings.KeySecret;
import io.limiter.micronaut.config.RedisConfiguration;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/** Chooses where submissions are kept: in Redis, if it is configured, which all instances share. */
@Factory
final class SubmissionStores {

  /** As long as there is none of the application: all instances need the same one. */
  private static final String NO_SECRET = "io.limiter.idempotency, without a secret";

  /**
   * Where submissions are kept.
   *
   * @param secret of their fingerprints
   * @param isShared whether it may be away
   * @param tried done once commands need not wait for a connection
   */
  record Place(
      SubmissionStore store, KeySecret secret, boolean isShared, CompletableFuture<Void> tried) {}

  @Singleton
  @Requires(beans = ConnectionSource.class)
  Place shared(
      RedisScripts redis,
      ConnectionSource connections,
      RedisConfiguration settings,
      IdempotencyConfiguration bounds) {
    return new Place(
        new RedisSubmissions(redis, bounds.maxBytesOfSubject()),
        settings.keySecret().orElseGet(() -> KeySecret.of(NO_SECRET)),
        true,
        tried(connections.firstAttempt(), settings.startTimeout()));
  }

  /**
   * The first messages of a consumer may arrive while the application starts: they would fail as if
   * Redis were away.
   *
   * @param firstAttempt its result does not matter
   */
  private static CompletableFuture<Void> tried(CompletionStage<?> firstAttempt, Duration longest) {
    return firstAttempt
        .<Void>handle((opened, failure) -> null)
        .toCompletableFuture()
        .completeOnTimeout(null, longest.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Singleton
  @Requires(missingBeans = ConnectionSource.class)
  Place own(IdempotencyConfiguration bounds) {
    return new Place(
        memory(bounds), KeySecret.random(), false, CompletableFuture.completedFuture(null));
  }

  static MemorySubmissions memory(IdempotencyConfiguration bounds) {
    return new MemorySubmissions(
        bounds.maxEntries(), bounds.maxBytes(), bounds.maxBytesOfSubject(), System::nanoTime);
  }
}
