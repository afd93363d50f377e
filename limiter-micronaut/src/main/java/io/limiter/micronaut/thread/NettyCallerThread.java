// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.limiter.core.store.LimitStore;
import io.micronaut.context.annotation.Requires;
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
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Finds the event loop of the request's connection, if the call is made on it. */
@Singleton
@Requires(classes = NettyHttpRequest.class)
final class NettyCallerThread implements CallerThreadFinder, WarmUpStep {

  private static final AttributeKey<DecisionQueue> LINE = AttributeKey.valueOf("io.limiter.line");
  private static final AttributeKey<OrderedExecutor> LANE = AttributeKey.valueOf("io.limiter.lane");

  @Override
  public Optional<Executor> current(HttpRequest<?> request) {
    Channel channel = channel(request);
    return channel != null && channel.eventLoop().inEventLoop()
        ? Optional.of(new Home(channel.eventLoop()))
        : Optional.empty();
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
    Attribute<DecisionQueue> kept = channel.attr(LINE);
    DecisionQueue line = kept.get();
    if (line == null) {
      if (decision.isDone()) {
        return Optional.of(decision);
      }
      if (request.getHttpVersion() == HttpVersion.HTTP_2_0) {
        return Optional.empty();
      }
      line = new DecisionQueue(new Home(channel.eventLoop()));
      kept.set(line);
    }
    return line.add(decision);
  }

  @Override
  public Optional<Executor> oneByOne(HttpRequest<?> request, Executor threads) {
    Channel channel = channel(request);
    if (channel == null) {
      return Optional.empty();
    }
    Attribute<OrderedExecutor> kept = channel.attr(LANE);
    OrderedExecutor lane = kept.get();
    if (lane == null) {
      OrderedExecutor made = new OrderedExecutor(threads, on -> channel.config().setAutoRead(on));
      OrderedExecutor before = kept.setIfAbsent(made);
      lane = before == null ? made : before;
    }
    return Optional.of(lane);
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
   * The executor of a loop. It runs tasks at once if the loop itself received the answer: another
   * turn of the loop would only add latency.
   */
  private record Home(EventLoop loop) implements Executor {
    @Override
    public void execute(Runnable task) {
      if (loop.inEventLoop()) {
        task.run();
      } else {
        loop.execute(task);
      }
    }
  }

  /**
   * Runs the continuation of a stage on the current loop, which otherwise only a request of the
   * server provides.
   */
  @Override
  public CompletionStage<?> run(LimitStore store, Executor home) {
    if (!(ThreadExecutorMap.currentExecutor() instanceof EventLoop loop)) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<Void> decision = new CompletableFuture<>();
    CompletableFuture<Void> inOrder =
        new DecisionQueue(new Home(loop)).add(decision).orElse(decision);
    decision.complete(null);
    return inOrder.thenRunAsync(() -> {}, new Home(loop));
  }

  /**
   * Threads of event loops that the application configures do not implement Reactor's NonBlocking.
   */
  @Override
  public boolean isEventLoop() {
    return ThreadExecutorMap.currentExecutor() instanceof EventLoop;
  }
}
