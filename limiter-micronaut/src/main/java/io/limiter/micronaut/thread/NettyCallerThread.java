// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.limiter.micronaut.thread.CallerThreads.CallerThreadFinder;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.HttpVersion;
import io.micronaut.http.netty.websocket.NettyWebSocketSession;
import io.micronaut.http.server.netty.NettyHttpRequest;
import io.micronaut.websocket.CloseReason;
import io.micronaut.websocket.WebSocketSession;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.EventLoop;
import io.netty.util.Attribute;
import io.netty.util.AttributeKey;
import io.netty.util.internal.ThreadExecutorMap;
import jakarta.inject.Singleton;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Finds the event loop of the request's connection, if the call is made on it. */
@Singleton
@Requires(classes = NettyHttpRequest.class)
final class NettyCallerThread implements CallerThreadFinder {

  /** The pending decisions of a connection, in their order. Only its event loop uses them. */
  private static final AttributeKey<Queue<OrderedDecision<?>>> PENDING_DECISIONS =
      AttributeKey.valueOf("io.limiter.pending-decisions");

  private static final AttributeKey<OrderedExecutor> TASK_EXECUTOR =
      AttributeKey.valueOf("io.limiter.task-executor");

  @Override
  public Optional<Executor> current(HttpRequest<?> request) {
    Channel channel = channel(request);
    return channel != null && channel.eventLoop().inEventLoop()
        ? Optional.of(task -> runOn(channel.eventLoop(), task))
        : Optional.empty();
  }

  /**
   * Runs a task on a loop: at once if the loop itself received the answer, since another turn of
   * the loop would only add latency.
   */
  private static void runOn(EventLoop loop, Runnable task) {
    if (loop.inEventLoop()) {
      task.run();
    } else {
      loop.execute(task);
    }
  }

  private static @Nullable Channel channel(HttpRequest<?> request) {
    HttpRequest<?> innermost = request;
    while (innermost instanceof HttpRequestWrapper<?> wrapper) {
      innermost = wrapper.getDelegate();
    }
    return innermost instanceof NettyHttpRequest<?> netty
        ? netty.getChannelHandlerContext().channel()
        : null;
  }

  /** HTTP/2 streams are not ordered relative to each other. */
  @Override
  public <T> Optional<CompletableFuture<T>> inOrder(
      HttpRequest<?> request, CompletableFuture<T> decision) {
    Channel channel = channel(request);
    if (channel == null || !channel.eventLoop().inEventLoop()) {
      return Optional.empty();
    }
    Attribute<Queue<OrderedDecision<?>>> kept = channel.attr(PENDING_DECISIONS);
    Queue<OrderedDecision<?>> pending = kept.get();
    if (pending == null) {
      if (decision.isDone()) {
        return Optional.of(decision);
      }
      if (request.getHttpVersion() == HttpVersion.HTTP_2_0) {
        return Optional.empty();
      }
      pending = new ArrayDeque<>();
      kept.set(pending);
    }
    return OrderedDecision.add(decision, pending, channel.eventLoop());
  }

  /** Micronaut 5 has no request where it submits the tasks of a WebSocket. */
  @Override
  public Optional<Executor> oneByOne(Optional<HttpRequest<?>> request, Executor threads) {
    Channel channel = WebSocketChannels.reading();
    if (channel == null) {
      channel = request.isPresent() ? channel(request.get()) : WebSocketChannels.opening();
    }
    return channel == null ? Optional.empty() : Optional.of(taskExecutor(channel, threads));
  }

  private static Executor taskExecutor(Channel channel, Executor threads) {
    Attribute<OrderedExecutor> kept = channel.attr(TASK_EXECUTOR);
    OrderedExecutor executor = kept.get();
    if (executor == null) {
      OrderedExecutor made =
          new OrderedExecutor(threads, channel.eventLoop(), on -> channel.config().setAutoRead(on));
      OrderedExecutor before = kept.setIfAbsent(made);
      executor = before == null ? made : before;
    }
    return executor;
  }

  /** The reset of an HTTP/2 stream without closing its connection is not detected. */
  @Override
  public Optional<Runnable> onGone(HttpRequest<?> request, Runnable task) {
    Channel channel = channel(request);
    if (channel == null) {
      return Optional.empty();
    }
    ChannelFutureListener listener = closed -> task.run();
    channel.closeFuture().addListener(listener);
    return Optional.of(() -> channel.closeFuture().removeListener(listener));
  }

  @Override
  public boolean closeWebSocket(HttpRequest<?> request, boolean later) {
    Channel channel = channel(request);
    WebSocketSession session =
        channel == null ? null : channel.attr(NettyWebSocketSession.WEB_SOCKET_SESSION_KEY).get();
    if (session == null) {
      return false;
    }
    session.close(later ? CloseReason.TRY_AGAIN_LATER : CloseReason.POLICY_VIOLATION);
    return true;
  }

  /**
   * Threads of event loops that the application configures do not implement Reactor's NonBlocking.
   */
  @Override
  public boolean isEventLoop() {
    return ThreadExecutorMap.currentExecutor() instanceof EventLoop;
  }

  /**
   * Runs the tasks of one connection one after another, on the threads of an executor, in the order
   * in which its event loop would. A task begins once the event loop has run what the one before it
   * left there: on Micronaut 5 that is the {@code @OnError} method, after a failure. The connection
   * is not read while many tasks wait.
   */
  static final class OrderedExecutor implements Executor {

    private static final int MANY = 256;

    private final Executor threads;
    private final Executor loop;
    private final ReadControl reading;
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private boolean running;
    private boolean paused;

    /** Pauses and resumes reading a connection. Neither method blocks. */
    interface ReadControl {
      void set(boolean on);
    }

    OrderedExecutor(Executor threads, Executor loop, ReadControl reading) {
      this.threads = threads;
      this.loop = loop;
      this.reading = reading;
    }

    @Override
    public void execute(Runnable task) {
      boolean begins;
      synchronized (this) {
        waiting.add(PropagatedContext.wrapCurrent(task));
        begins = !running;
        running = true;
        if (waiting.size() >= MANY && !paused) {
          paused = true;
          reading.set(false);
        }
      }
      if (begins) {
        begin();
      }
    }

    private void begin() {
      try {
        threads.execute(this::next);
      } catch (RejectedExecutionException closed) {
        synchronized (this) {
          waiting.clear();
          running = false;
        }
        throw closed;
      }
    }

    /** Runs one task at a time, so that other connections have their turn. */
    private void next() {
      Runnable task;
      synchronized (this) {
        task = waiting.remove();
        if (paused && waiting.size() < MANY / 2) {
          paused = false;
          reading.set(true);
        }
      }
      try {
        task.run();
      } finally {
        try {
          loop.execute(this::resumeNext);
        } catch (RejectedExecutionException closed) { // the loop has ended: nothing runs on it
          resumeNext();
        }
      }
    }

    private void resumeNext() {
      boolean more;
      synchronized (this) {
        more = !waiting.isEmpty();
        running = more;
      }
      if (more) {
        begin();
      }
    }
  }

  /**
   * A decision that completes on the event loop of its connection, in connection order. One that
   * arrives early waits for those before it, at most for the store's deadline. Only for use on that
   * event loop.
   */
  private static final class OrderedDecision<T> extends CompletableFuture<T>
      implements BiConsumer<@Nullable T, @Nullable Throwable> {

    /**
     * Far above the pending decisions of any normal connection; further decisions are not ordered.
     */
    private static final int MAX_WAITING = 4_096;

    private final Queue<OrderedDecision<?>> pending;
    private final EventLoop loop;
    private @Nullable T value;
    private @Nullable Throwable failure;
    private volatile boolean arrived;
    private boolean resuming; // stays first in the queue while its continuation runs

    private OrderedDecision(Queue<OrderedDecision<?>> pending, EventLoop loop) {
      this.pending = pending;
      this.loop = loop;
    }

    /**
     * Returns the decision in connection order, completed on the event loop; empty if too many are
     * pending.
     */
    static <T> Optional<CompletableFuture<T>> add(
        CompletableFuture<T> decision, Queue<OrderedDecision<?>> pending, EventLoop loop) {
      if (decision.isDone() && nonePending(pending)) {
        return Optional.of(decision);
      }
      if (pending.size() >= MAX_WAITING) {
        return Optional.empty();
      }
      OrderedDecision<T> ordered = new OrderedDecision<>(pending, loop);
      pending.add(ordered);
      var unused = decision.whenComplete(ordered);
      return Optional.of(ordered);
    }

    private static boolean nonePending(Queue<OrderedDecision<?>> pending) {
      OrderedDecision<?> first = pending.peek();
      return first == null || (first.resuming && pending.size() == 1);
    }

    @Override
    public void accept(@Nullable T decided, @Nullable Throwable failed) {
      value = decided;
      failure = failed;
      arrived = true;
      try {
        runOn(loop, this::advance);
      } catch (
          RejectedExecutionException
              closed) { // the loop has ended: decisions are no longer ordered
        resume();
      }
    }

    /**
     * A continuation may decide again, which calls this method: the loop that already runs handles
     * that.
     */
    private void advance() {
      OrderedDecision<?> first = pending.peek();
      if (first != null && first.resuming) {
        return;
      }
      while (first != null && first.arrived) {
        first.resuming = true;
        try {
          first.resume();
        } finally {
          pending.remove();
        }
        first = pending.peek();
      }
    }

    private void resume() {
      Throwable failed = failure;
      if (failed != null) {
        completeExceptionally(failed);
      } else {
        complete(value);
      }
    }
  }
}
