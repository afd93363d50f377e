// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.memory.MemoryStore;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.store.LimitStore;
import io.limiter.micronaut.config.RedisConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.redis.RedisConnections.ServerLoops;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.context.event.ShutdownEvent;
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
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delays the start until the {@link SharedSettings} are in use, and each event loop has run every
 * {@link WarmUpStep}, so that no request pays the cost of first-time work. The steps begin when the
 * context has started, beside the creation of the server, which does not listen before they end.
 * The fallback decides first, then Redis. The thread that starts the application waits for a
 * bounded time, and not for Redis once an attempt to connect has failed.
 */
@Singleton
final class WarmStart
    implements BeanCreatedEventListener<EmbeddedServer>,
        ApplicationEventListener<StartupEvent>,
        Ordered {

  private static final Logger LOG = LoggerFactory.getLogger(WarmStart.class);

  /** Beans are looked up late, since a listener for beans is created before all others. */
  private final BeanContext context;

  /** What the start has waited: all waits together have one bound. */
  private final AtomicLong waitedNanos = new AtomicLong();

  /** Null until the steps have begun. */
  private @Nullable WarmUp begun;

  /** What is run once the server listens. */
  private volatile CompletableFuture<Void> listening = CompletableFuture.completedFuture(null);

  WarmStart(BeanContext context) {
    this.context = context;
  }

  /** After the start of the context, unless a bean needs the server earlier. */
  @Override
  public EmbeddedServer onCreated(BeanCreatedEvent<EmbeddedServer> created) {
    await(begin());
    return created.getBean();
  }

  /** After the check of the settings: only then the plans can change. */
  @Override
  public int getOrder() {
    return SettingsRefresh.CHECK_ORDER + 1;
  }

  /**
   * Nothing listens before this event. A server on the class path may never be created: its event
   * loops are used now only if they have connections.
   */
  @Override
  public void onApplicationEvent(StartupEvent started) {
    if (!context.containsBean(EmbeddedServer.class)) {
      await(begin());
    } else if (context.containsBean(ConnectionSource.class)) {
      var unused = begin();
    }
    Optional<SharedSettings> shared = context.findBean(SharedSettings.class);
    if (shared.isPresent()) {
      long begin = System.nanoTime();
      shared.get().begin(leftNanos(longest()));
      waitedNanos.addAndGet(System.nanoTime() - begin);
    }
  }

  /** The end of what is run once the server listens. */
  CompletableFuture<Void> listening() {
    return listening.copy();
  }

  private Duration longest() {
    return context.getBean(RedisConfiguration.class).warmUp();
  }

  private long leftNanos(Duration longest) {
    return longest.toNanos() - waitedNanos.get();
  }

  private synchronized WarmUp begin() {
    if (begun == null) {
      Optional<ConnectionSource> connections = context.findBean(ConnectionSource.class);
      CompletableFuture<Boolean> connected =
          connections.isPresent()
              ? connections.get().firstAttempt().toCompletableFuture()
              : CompletableFuture.completedFuture(false);
      begun =
          new WarmUp(
              connected, longest().isZero() ? connected.thenAccept(open -> {}) : steps(connected));
    }
    return begun;
  }

  private void await(WarmUp warmUp) {
    long begin = System.nanoTime();
    Duration longest = longest();
    try {
      warmUp.done().get(leftNanos(longest), TimeUnit.NANOSECONDS);
      LOG.debug("Waited {} ms until warm", Duration.ofNanos(System.nanoTime() - begin).toMillis());
    } catch (TimeoutException e) {
      if (warmUp.connected().isDone()) {
        LOG.debug("Not warm within {} ms: the first requests may be slower", longest.toMillis());
      } else {
        LOG.warn(
            "Redis did not answer within {} ms of the start: the fallback decides until it does",
            longest.toMillis());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      throw new ConfigurationException("The connections to Redis cannot be opened", e.getCause());
    } finally {
      waitedNanos.addAndGet(System.nanoTime() - begin);
    }
  }

  /**
   * Runs all steps: on a thread of their own while Redis is connected, so that they load the
   * classes; then on each event loop, by Redis or, if it is away, by the fallback. Their beans are
   * created here.
   *
   * @param connected whether Redis is connected; the result fails if this does
   */
  private CompletableFuture<Void> steps(CompletableFuture<Boolean> connected) {
    Collection<WarmUpStep> parts = parts();
    LimitStore chain = chain();
    CompletableFuture<Void> loaded =
        CompletableFuture.<Void>completedFuture(null)
            .thenComposeAsync(
                none -> run(parts, WarmUpStep::run, new MemoryStore(), Runnable::run),
                WarmStart::onThreadOfItsOwn);
    CompletableFuture<Boolean> both = loaded.thenCombine(connected, (done, open) -> open);
    List<? extends Executor> loops =
        context
            .findBean(ServerLoops.class)
            .map(server -> server.loops(Integer.MAX_VALUE))
            .orElse(List.of());
    List<CompletableFuture<Void>> warm = new ArrayList<>();
    for (Executor loop : loops.isEmpty() ? List.<Executor>of(Runnable::run) : loops) {
      warm.add(both.thenCompose(open -> run(parts, WarmUpStep::run, chain, loop)));
    }
    return CompletableFuture.allOf(warm.toArray(CompletableFuture<?>[]::new));
  }

  private static void onThreadOfItsOwn(Runnable task) {
    Thread thread = new Thread(task, "limiter-warm-up");
    thread.setDaemon(true);
    thread.start();
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
      BiFunction<WarmUpStep, LimitStore, CompletionStage<?>> action,
      LimitStore store,
      Executor thread) {
    CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
    for (WarmUpStep part : parts) {
      all =
          all.<Object>thenComposeAsync(
                  before -> action.apply(part, store).thenApply(o -> o), thread)
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

  /**
   * The steps.
   *
   * @param connected whether Redis is connected
   * @param done fails if {@code connected} does
   */
  private record WarmUp(CompletableFuture<Boolean> connected, CompletableFuture<Void> done) {}

  /** Runs what can wait until the server listens. */
  @Singleton
  static final class WhenListening implements ApplicationEventListener<ServerStartupEvent> {

    private final WarmStart start;

    WhenListening(WarmStart start) {
      this.start = start;
    }

    @Override
    public void onApplicationEvent(ServerStartupEvent listens) {
      if (!start.longest().isZero()) {
        Collection<WarmUpStep> parts = start.parts();
        start.listening =
            CompletableFuture.<Void>completedFuture(null)
                .thenComposeAsync(
                    none -> run(parts, WarmUpStep::runListening, new MemoryStore(), Runnable::run),
                    WarmStart::onThreadOfItsOwn);
      }
    }
  }

  /** Waits until that has ended: it uses beans. */
  @Singleton
  static final class WhenClosing implements ApplicationEventListener<ShutdownEvent> {

    private static final long LONGEST_SECONDS = 5;

    private final WarmStart start;

    WhenClosing(WarmStart start) {
      this.start = start;
    }

    @Override
    public void onApplicationEvent(ShutdownEvent closes) {
      var unused =
          start.listening().completeOnTimeout(null, LONGEST_SECONDS, TimeUnit.SECONDS).join();
    }
  }
}
