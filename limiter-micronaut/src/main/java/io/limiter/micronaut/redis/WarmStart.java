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
import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds the start until the store has decided once over a warm connection, so that no request pays
 * for what is done for the first time: once the server is made, and before it listens; without a
 * server when the context has started. It waits on the thread that starts the application, for a
 * bounded time, and not for Redis once an attempt to connect has failed.
 */
@Singleton
@Requires(beans = ConnectionSource.class)
final class WarmStart
    implements BeanCreatedEventListener<EmbeddedServer>, ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(WarmStart.class);

  private static final Policy PROBE =
      Policy.of("io.limiter.warm-start", SlidingWindowLog.of(1, Duration.ofSeconds(1)));

  /** Asked late: a listener for beans is made before all others. */
  private final BeanContext context;

  private final AtomicBoolean held = new AtomicBoolean();

  WarmStart(BeanContext context) {
    this.context = context;
  }

  @Override
  public EmbeddedServer onCreated(BeanCreatedEvent<EmbeddedServer> created) {
    hold();
    return created.getBean();
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    if (!context.containsBean(EmbeddedServer.class)) {
      hold();
    }
  }

  private void hold() {
    if (held.getAndSet(true)) {
      return;
    }
    LimitStore store = context.getBean(LimitStore.class);
    Duration longest = context.getBean(RedisConfiguration.class).getWarmUp();
    CompletableFuture<Boolean> connected =
        context.getBean(ConnectionSource.class).firstAttempt().toCompletableFuture();
    try {
      Verdict first =
          connected
              .thenCompose(
                  warm -> store.decide(LimitRequest.of(PROBE, Subject.global()), Mode.PEEK))
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
