// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.async.propagation.ReactorPropagation;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.context.ServerHttpRequestContext;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;
import reactor.core.scheduler.NonBlocking;
import reactor.util.context.ContextView;

/**
 * Moves calls back from the store's threads. A call from its request's event loop continues there.
 * Any other call continues on a thread of {@link Continuations}, since all threads of the executor
 * that it came from may be waiting for it.
 */
@Internal
@Singleton
public final class CallerThreads {

  /**
   * Longer than the longest hard deadline of any store, one minute, so that it ends a wait only if
   * a store violates its contract.
   */
  private static final Duration MAX_WAIT = Duration.ofSeconds(65);

  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final Logger LOG = LoggerFactory.getLogger(CallerThreads.class);

  /** The most methods that are logged. */
  private static final int MAX_LOGGED = 100;

  private final Set<String> logged = ConcurrentHashMap.newKeySet();
  private final List<CallerThreadFinder> servers;
  private final Continuations continuations;
  private final LimiterTimer timer;
  private final Duration maxWait;

  /** The results that threads wait for, with the {@link System#nanoTime} at which a wait ends. */
  private final Map<CompletableFuture<?>, Long> waits = new ConcurrentHashMap<>();

  /** Whether the timer is about to look for waits that have to end. */
  private final AtomicBoolean looks = new AtomicBoolean();

  @Inject
  public CallerThreads(
      List<CallerThreadFinder> servers, Continuations continuations, LimiterTimer timer) {
    this(servers, continuations, timer, MAX_WAIT);
  }

  CallerThreads(
      List<CallerThreadFinder> servers,
      Continuations continuations,
      LimiterTimer timer,
      Duration maxWait) {
    this.servers = servers;
    this.continuations = continuations;
    this.timer = timer;
    this.maxWait = maxWait;
  }

  /**
   * Returns a stage whose continuation runs on the caller's event loop, or at once if the result is
   * already there.
   */
  public <T> CompletableFuture<T> resume(
      CompletionStage<T> stage, Optional<HttpRequest<?>> request) {
    CompletableFuture<T> future = stage.toCompletableFuture();
    return future.isDone() ? future : resume(future, request, CallContext.current());
  }

  /**
   * Like {@link #resume(CompletionStage, Optional)}, but with a context for other threads.
   *
   * @param caller the context for other threads than the caller's
   */
  public <T> CompletableFuture<T> resume(
      CompletionStage<T> stage, Optional<HttpRequest<?>> request, CallContext caller) {
    CompletableFuture<T> future = stage.toCompletableFuture();
    if (future.isDone()) {
      return future;
    }
    Optional<Executor> home = request.isPresent() ? server(request.get()) : Optional.empty();
    return future.whenCompleteAsync(
        (result, failure) -> {},
        home.isPresent()
            ? home.get()
            : continuation -> continuations.run(() -> caller.run(continuation)));
  }

  /**
   * Like {@link #resume}, for a decision: ordered after earlier ones on the same connection.
   *
   * @param caller the context for other threads than the caller's
   */
  public <T> CompletableFuture<T> inOrder(
      CompletionStage<T> decision, Optional<HttpRequest<?>> request, CallContext caller) {
    if (request.isPresent()) {
      for (int i = 0; i < servers.size(); i++) {
        Optional<CompletableFuture<T>> inOrder =
            servers.get(i).inOrder(request.get(), decision.toCompletableFuture());
        if (inOrder.isPresent()) {
          return inOrder.get();
        }
      }
    }
    return resume(decision, request, caller);
  }

  /**
   * Runs a task on one of these threads, after all tasks that were submitted this way for the same
   * connection, if the server supports that. To be called on the thread that read the connection.
   */
  public void oneByOne(Optional<HttpRequest<?>> request, Executor threads, Runnable task) {
    servers.stream()
        .flatMap(server -> server.oneByOne(request, threads).stream())
        .findFirst()
        .orElse(threads)
        .execute(task);
  }

  private Optional<Executor> server(HttpRequest<?> request) {
    for (CallerThreadFinder server : servers) {
      Optional<Executor> executor = server.current(request);
      if (executor.isPresent()) {
        return executor;
      }
    }
    return Optional.empty();
  }

  /**
   * Runs a task once the client no longer waits for the response to a request, if the server
   * reports that. The task must not block.
   *
   * @return removes the task
   */
  public Runnable onGone(Optional<HttpRequest<?>> request, Runnable task) {
    return request
        .flatMap(
            http ->
                servers.stream().flatMap(server -> server.onGone(http, task).stream()).findFirst())
        .orElse(() -> {});
  }

  /**
   * Closes the WebSocket that a request opened.
   *
   * @param later whether the same call may succeed later: closes with 1013, else with 1008
   * @return whether it is closed now
   */
  public boolean closeWebSocket(Optional<HttpRequest<?>> request, boolean later) {
    return request
        .filter(http -> servers.stream().anyMatch(server -> server.closeWebSocket(http, later)))
        .isPresent();
  }

  /** Whether the current thread must never block. */
  public boolean mustNotBlock() {
    return Thread.currentThread() instanceof NonBlocking
        || servers.stream().anyMatch(CallerThreadFinder::isEventLoop);
  }

  /**
   * Verifies that the current thread may block, whether or not it will have to. The first call of
   * each method that fails is logged: what handles exceptions may hide the message.
   *
   * @param method the method that would wait, for the message
   * @throws IllegalStateException with the remedy, if it must not block
   */
  public void requireMayBlock(String method) {
    if (mustNotBlock()) {
      String remedy =
          "%s is limited, returns its result itself, and was called on the event loop %s, which must not wait for a decision: call it from a thread that may block, for example by @ExecuteOn(TaskExecutors.BLOCKING) on the controller that calls it, or let it return a CompletionStage or a Publisher"
              .formatted(method, Thread.currentThread().getName());
      if (logged.size() < MAX_LOGGED && logged.add(method)) {
        LOG.error("{}. Each such call fails; this is logged once", remedy);
      }
      throw new IllegalStateException(remedy);
    }
  }

  /** Waits for a report on a call that has run, unless this thread must not block. */
  public void awaitWhereAllowed(CompletionStage<?> reported, String method) {
    if (reported.toCompletableFuture().isDone() || mustNotBlock()) {
      return;
    }
    try {
      await(reported, method);
    } catch (IllegalStateException interrupted) {
      // The call goes on.
    }
  }

  /**
   * Waits for a result, for a bounded time, on a thread that may block.
   *
   * @param method the method that waits, for the message
   */
  public <T> @Nullable T await(CompletionStage<T> stage, String method) {
    return await(stage, method, Duration.ZERO);
  }

  /**
   * Like {@link #await(CompletionStage, String)}, but for a result that is expected only after some
   * time.
   *
   * <p>A virtual thread that waits with a timeout schedules a task for each wait, and cancels it.
   * So no wait has a timeout of its own: the timer looks over all of them once a second.
   *
   * @param expected the time after which the result is expected
   */
  @SuppressWarnings("CollectionUndefinedEquality") // the same object is put and removed
  public <T> @Nullable T await(CompletionStage<T> stage, String method, Duration expected) {
    // Only the wait ends: the result may still come, and others may use it.
    CompletableFuture<T> wait = stage.toCompletableFuture().copy();
    try {
      if (!wait.isDone()) {
        waits.put(wait, System.nanoTime() + expected.plus(maxWait).toNanos());
        lookLater();
      }
      return wait.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof WaitEnded) {
        throw new IllegalStateException(
            "No decision on " + method + " came in " + maxWait.toSeconds() + " s", e);
      }
      throw e.getCause() instanceof RuntimeException cause
          ? cause
          : new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting for the decision on " + method, e);
    } finally {
      waits.remove(wait);
    }
  }

  private void lookLater() {
    if (!looks.get() && looks.compareAndSet(false, true)) {
      var unused = timer.schedule(this::endWaits, LOOK_NANOS);
    }
  }

  private void endWaits() {
    long now = System.nanoTime();
    waits.forEach(
        (wait, end) -> {
          if (now - end > 0) {
            wait.completeExceptionally(new WaitEnded());
          }
        });
    looks.set(false);
    if (!waits.isEmpty()) {
      lookLater();
    }
  }

  /** Ends a wait. A store may fail with a {@link java.util.concurrent.TimeoutException} itself. */
  private static final class WaitEnded extends Exception {
    private static final long serialVersionUID = 1;
  }

  /** Finds the executor that the current thread belongs to, for one kind of server. */
  @Internal
  @FunctionalInterface
  public interface CallerThreadFinder {

    /**
     * The executor of the current thread; empty if the thread does not belong to this request's
     * server.
     */
    Optional<Executor> current(HttpRequest<?> request);

    /**
     * Orders a decision after earlier ones on the connection of this request, and runs its
     * continuation on the current thread, so that a message or request does not overtake an earlier
     * one.
     *
     * @return empty if the current thread does not read the connection, or if calls on it have no
     *     order
     */
    default <T> Optional<CompletableFuture<T>> inOrder(
        HttpRequest<?> request, CompletableFuture<T> decision) {
      return Optional.empty();
    }

    /**
     * Returns an executor that runs the tasks of one connection one after another, in the order of
     * their submission: of the WebSocket whose message the current thread has read, else of the
     * request's connection.
     *
     * @param threads the threads that run the tasks, which may block
     * @return empty if the connection is unknown, or does not belong to this server
     */
    default Optional<Executor> oneByOne(Optional<HttpRequest<?>> request, Executor threads) {
      return Optional.empty();
    }

    /**
     * Runs a task once the client no longer waits for the response to this request; at once, if
     * that is already so. The task may run on any thread and must not block.
     *
     * @return removes the task; empty if the request does not belong to this server
     */
    default Optional<Runnable> onGone(HttpRequest<?> request, Runnable task) {
      return Optional.empty();
    }

    /**
     * Closes the WebSocket that this request opened.
     *
     * @param later whether the same call may succeed later: closes with 1013, else with 1008
     * @return whether it is closed now; false if the request does not belong to this server or
     *     opened no WebSocket
     */
    default boolean closeWebSocket(HttpRequest<?> request, boolean later) {
      return false;
    }

    /** Whether the current thread serves many connections, so that it must never block. */
    default boolean isEventLoop() {
      return false;
    }
  }

  /**
   * The context of a call, captured on the calling thread for the thread that continues the call.
   *
   * @param propagated Micronaut's context
   * @param mdc the thread's mapped diagnostic context; null if there is none
   */
  @Internal
  public record CallContext(PropagatedContext propagated, @Nullable Map<String, String> mdc) {

    /** An empty context. */
    public static final CallContext NONE = new CallContext(PropagatedContext.empty(), null);

    /** The context of the current thread. */
    public static CallContext current() {
      return new CallContext(PropagatedContext.getOrEmpty(), MDC.getCopyOfContextMap());
    }

    /** The context of a subscriber, else of the current thread. */
    public static CallContext of(ContextView subscriber) {
      return new CallContext(
          ReactorPropagation.findPropagatedContext(subscriber)
              .orElseGet(PropagatedContext::getOrEmpty),
          MDC.getCopyOfContextMap());
    }

    /** This context, with missing parts taken from another. */
    public CallContext or(CallContext other) {
      return new CallContext(
          propagated.getAllElements().isEmpty() ? other.propagated : propagated,
          mdc == null ? other.mdc : mdc);
    }

    /** This context, with a request. */
    public CallContext with(HttpRequest<?> request) {
      Optional<ServerHttpRequestContext> known = propagated.find(ServerHttpRequestContext.class);
      if (known.isPresent() && known.get().httpRequest() == request) {
        return this;
      }
      ServerHttpRequestContext element = new ServerHttpRequestContext(request);
      return new CallContext(
          known.isPresent() ? propagated.replace(known.get(), element) : propagated.plus(element),
          mdc);
    }

    /** Runs a task with this context and restores the thread's own context afterwards. */
    void run(Runnable task) {
      Map<String, String> before = MDC.getCopyOfContextMap();
      set(mdc);
      try {
        propagated.wrap(task).run();
      } finally {
        set(before);
      }
    }

    private static void set(@Nullable Map<String, String> mdc) {
      if (mdc == null) {
        MDC.clear();
      } else {
        MDC.setContextMap(mdc);
      }
    }
  }
}
