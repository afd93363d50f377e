// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.SlidingWindowLog;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.micronaut.config.RedisConfiguration;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects while the context starts, and holds the start until the store has decided once over a
 * warm connection, so that no request pays for what is done for the first time. It waits on the
 * thread that starts the application, for a bounded time, and not for Redis once an attempt to
 * connect has failed.
 */
@Context
@Requires(beans = ConnectionSource.class)
final class WarmStart implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(WarmStart.class);

  private static final LimitRequest PROBE =
      LimitRequest.of(
          Policy.of("io.limiter.warm-start", SlidingWindowLog.of(1, Duration.ofSeconds(1))),
          Subject.global());

  private final ConnectionSource connections;
  private final LimitStore store;
  private final Duration longest;

  WarmStart(ConnectionSource connections, LimitStore store, RedisConfiguration redis) {
    this.connections = connections;
    this.store = store;
    this.longest = redis.getWarmUp();
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    CompletableFuture<Boolean> connected = connections.firstAttempt().toCompletableFuture();
    try {
      Verdict first =
          connected
              .thenCompose(warm -> store.decide(PROBE, Mode.PEEK))
              .get(longest.toMillis(), TimeUnit.MILLISECONDS);
      LOG.debug("First decision by {}", first.source());
    } catch (TimeoutException e) {
      LOG.warn(
          "Redis did not answer within {} ms of the start: the fallback decides until it does",
          longest.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      if (connected.isCompletedExceptionally()) {
        throw new ConfigurationException("The connections to Redis cannot be opened", e.getCause());
      }
      LOG.warn("The limit store fails at the start", e.getCause());
    }
  }
}
