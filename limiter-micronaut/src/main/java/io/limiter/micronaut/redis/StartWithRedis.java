// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.redis.ConnectionSource;
import io.limiter.micronaut.config.RedisConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.order.Ordered;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delays the start until the connections to Redis are open and the {@link SharedSettings} are in
 * use, so that Redis decides the first request: no server listens before this event. It blocks the
 * thread that starts the application for a bounded time, and does not wait for Redis once an
 * attempt to connect has failed.
 */
@Singleton
record StartWithRedis(
    RedisConfiguration redis,
    BeanProvider<ConnectionSource> connections,
    Optional<SharedSettings> shared)
    implements ApplicationEventListener<StartupEvent>, Ordered {

  private static final Logger LOG = LoggerFactory.getLogger(StartWithRedis.class);

  /** After the check of the settings: only then the plans can change. */
  @Override
  public int getOrder() {
    return SettingsRefresh.CHECK_ORDER + 1;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    long end = System.nanoTime() + redis.startTimeout().toNanos();
    if (!redis.startTimeout().isZero()) {
      connections.ifPresent(source -> await(source, end));
    }
    shared.ifPresent(settings -> settings.begin(end - System.nanoTime()));
  }

  private void await(ConnectionSource source, long end) {
    long begin = System.nanoTime();
    try {
      boolean open =
          source.firstAttempt().toCompletableFuture().get(end - begin, TimeUnit.NANOSECONDS);
      LOG.debug(
          "{} after {} ms",
          open ? "Connected" : "Not connected",
          Duration.ofNanos(System.nanoTime() - begin).toMillis());
    } catch (TimeoutException e) {
      LOG.warn(
          "Redis did not answer within {} ms of the start: the fallback decides until it does",
          redis.startTimeout().toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      throw new ConfigurationException(
          "The connections to Redis cannot be opened", Objects.requireNonNullElse(e.getCause(), e));
    }
  }
}
