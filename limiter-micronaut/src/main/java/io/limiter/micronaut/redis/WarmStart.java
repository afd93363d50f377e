// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.memory.MemoryStore;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.store.LimitStore;
import io.limiter.micronaut.config.RedisConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.redis.RedisConnections.ServerLoops;
import io.limiter.micronaut.thread.Continuations;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.order.Ordered;
import io.micronaut.runtime.server.EmbeddedServer;
import io.micronaut.runtime.server.event.ServerStartupEvent;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delays the start until the {@link SharedSettings} are in use, and each event loop has run every
 * {@link WarmUpStep}, so that no request pays the cost of first-time work. The steps run once the
 * server is created and before it listens; without a server, when the context has started. The
 * fallback decides first, then Redis. It blocks the thread that starts the application for a
 * bounded time, and does not wait for Redis once an attempt to connect has failed. What no deadline
 * includes is left to {@link Responses}.
 */
@Singleton
final class WarmStart
    implements BeanCreatedEventListener<EmbeddedServer>,
        ApplicationEventListener<StartupEvent>,
        Ordered {

  private static final Logger LOG = LoggerFactory.getLogger(WarmStart.class);

  /** Beans are looked up late, since a listener for beans is created before all others. */
  private final BeanContext context;

  /** The thread that starts the application. */
  private final Executor here = Runnable::run;

  private final AtomicBoolean held = new AtomicBoolean();

  /** What the start has waited: all waits together have one bound. */
  private final AtomicLong waitedNanos = new AtomicLong();

  WarmStart(BeanContext context) {
    this.context = context;
  }

  @Override
  public EmbeddedServer onCreated(BeanCreatedEvent<EmbeddedServer> created) {
    Optional<ServerLoops> server = context.findBean(ServerLoops.class);
    hold(server.isPresent() ? server.get().loops(Integer.MAX_VALUE) : List.of());
    return created.getBean();
  }

  /** After the check of the settings: only then the plans can change. */
  @Override
  public int getOrder() {
    return SettingsRefresh.CHECK_ORDER + 1;
  }

  /** Nothing listens before this event. A server on the class path may never be created. */
  @Override
  public void onApplicationEvent(StartupEvent started) {
    if (!context.containsBean(EmbeddedServer.class)) {
      hold(List.of());
    }
    Optional<SharedSettings> shared = context.findBean(SharedSettings.class);
    if (shared.isPresent()) {
      long begin = System.nanoTime();
      shared.get().begin(leftNanos(longest()));
      waitedNanos.addAndGet(System.nanoTime() - begin);
    }
  }

  private Duration longest() {
    return context.getBean(RedisConfiguration.class).warmUp();
  }

  private long leftNanos(Duration longest) {
    return longest.toNanos() - waitedNanos.get();
  }

  /**
   * @param loops empty if the serving threads may block
   */
  private void hold(List<? extends Executor> loops) {
    if (held.getAndSet(true)) {
      return;
    }
    long begin = System.nanoTime();
    Duration longest = longest();
    Optional<ConnectionSource> connections = context.findBean(ConnectionSource.class);
    CompletableFuture<Boolean> connected =
        connections.isPresent()
            ? connections.get().firstAttempt().toCompletableFuture()
            : CompletableFuture.completedFuture(false);
    CompletableFuture<Void> warm =
        longest.isZero() ? connected.thenAccept(open -> {}) : warm(loops, connected);
    try {
      warm.get(leftNanos(longest) - (System.nanoTime() - begin), TimeUnit.NANOSECONDS);
      LOG.debug("Warm in {} ms", Duration.ofNanos(System.nanoTime() - begin).toMillis());
    } catch (TimeoutException e) {
      if (connected.isDone()) {
        LOG.debug("Not warm within {} ms: the first requests may be slower", longest.toMillis());
      } else {
        LOG.warn(
            "Redis did not answer within {} ms of the start: the fallback decides until it does",
            longest.toMillis());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      throw new ConfigurationException(
          "The connections to Redis cannot be opened", Objects.requireNonNullElse(e.getCause(), e));
    } finally {
      waitedNanos.addAndGet(System.nanoTime() - begin);
    }
  }

  /**
   * Runs all steps: on this thread while Redis is connected, so that it creates the beans and loads
   * the classes; then on each event loop, by Redis or, if it is away, by the fallback.
   *
   * @param connected whether Redis is connected; the result fails if this does
   */
  private CompletableFuture<Void> warm(
      List<? extends Executor> loops, CompletableFuture<Boolean> connected) {
    Collection<WarmUpStep> parts = parts();
    run(parts, part -> part.run(new MemoryStore()), here).join();
    LimitStore chain = chain();
    List<CompletableFuture<Void>> warm = new ArrayList<>();
    for (Executor loop : loops.isEmpty() ? List.of(here) : loops) {
      warm.add(connected.thenCompose(open -> run(parts, part -> part.run(chain), loop)));
    }
    return CompletableFuture.allOf(warm.toArray(CompletableFuture<?>[]::new));
  }

  /** A chain of stores like that of the application, with its own caches and counters. */
  private LimitStore chain() {
    var unused = context.getBean(LimitStore.class); // creates the other bean if it depends on it
    return context.getActiveBeanRegistrations(RedisStoreHolder.class).stream()
        .findFirst()
        .map(made -> context.getBean(StoreChain.class).forWarmUp(made.getBean().store()))
        .orElseGet(MemoryStore::new); // Redis is not used, or the store is the application's own
  }

  private Collection<WarmUpStep> parts() {
    try {
      return context.getBeansOfType(WarmUpStep.class);
    } catch (RuntimeException | LinkageError broken) {
      LOG.debug("There is no warm-up", broken);
      return List.of();
    }
  }

  /** Runs the steps one after another; a failure does not stop the others. */
  private static CompletableFuture<Void> run(
      Collection<WarmUpStep> parts,
      Function<WarmUpStep, CompletionStage<?>> work,
      Executor thread) {
    CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
    for (WarmUpStep part : parts) {
      all =
          all.thenComposeAsync(before -> run(part, work), thread)
              .handle(
                  (ran, failure) -> {
                    if (failure != null) {
                      LOG.debug("{} has failed", part.getClass().getSimpleName(), failure);
                    }
                    return null;
                  });
    }
    return all;
  }

  private static CompletionStage<?> run(
      WarmUpStep part, Function<WarmUpStep, CompletionStage<?>> work) {
    try {
      return work.apply(part);
    } catch (RuntimeException | LinkageError broken) {
      return CompletableFuture.failedFuture(broken);
    }
  }

  /**
   * Makes the first responses when the application's own first requests, which a machine of few
   * processors would delay otherwise, have probably ended.
   */
  @Singleton
  record Responses(WarmStart start, BeanContext context, Continuations threads)
      implements ApplicationEventListener<ServerStartupEvent> {

    private static final long AFTER_SECONDS = 1;

    @Override
    public void onApplicationEvent(ServerStartupEvent started) {
      if (!start.longest().isZero()) {
        CompletableFuture.delayedExecutor(AFTER_SECONDS, TimeUnit.SECONDS, threads::run)
            .execute(this::respond);
      }
    }

    private void respond() {
      if (context.isRunning()) {
        var unused = run(start.parts(), part -> part.respond(new MemoryStore()), Runnable::run);
      }
    }
  }
}
