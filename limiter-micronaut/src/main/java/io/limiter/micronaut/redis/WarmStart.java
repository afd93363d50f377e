// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.redis.SharedConnection;
import io.limiter.micronaut.config.RedisConfiguration;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects while the context starts, and holds the start until the connection is warm, so that no
 * request pays for a cold one. It waits on the thread that starts the application, for a bounded
 * time, and not at all once an attempt has failed.
 */
@Context
@Requires(beans = SharedConnection.class)
final class WarmStart implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(WarmStart.class);

  private final SharedConnection connection;
  private final Duration longest;

  WarmStart(SharedConnection connection, RedisConfiguration redis) {
    this.connection = connection;
    this.longest = redis.getWarmUp();
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    try {
      boolean warm =
          connection
              .firstAttempt()
              .toCompletableFuture()
              .get(longest.toMillis(), TimeUnit.MILLISECONDS);
      LOG.debug("First connection to Redis: {}", warm ? "warm" : "failed");
    } catch (TimeoutException e) {
      LOG.warn(
          "Redis did not answer within {} ms of the start: deciding in memory until it does",
          longest.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      throw new IllegalStateException("A first attempt never fails", e);
    }
  }
}
