// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.netty.websocket.NettyWebSocketSession;
import io.micronaut.http.server.netty.NettyHttpRequest;
import io.micronaut.websocket.CloseReason;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.EventLoop;
import io.netty.util.internal.ThreadExecutorMap;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.concurrent.Executor;

/** The event loop of the request's connection, if that is where the call is. */
@Singleton
@Requires(classes = NettyHttpRequest.class)
final class NettyCallerThread implements CallerThread {

  @Override
  public Optional<Executor> current(HttpRequest<?> request) {
    return channel(request)
        .map(Channel::eventLoop)
        .filter(EventLoop::inEventLoop)
        .map(loop -> task -> run(loop, task));
  }

  private static Optional<Channel> channel(HttpRequest<?> request) {
    HttpRequest<?> innermost = request;
    while (innermost instanceof HttpRequestWrapper<?> wrapper) {
      innermost = wrapper.getDelegate();
    }
    return innermost instanceof NettyHttpRequest<?> netty
        ? Optional.of(netty.getChannelHandlerContext().channel())
        : Optional.empty();
  }

  /** A stream of HTTP/2 may be reset without its connection being closed: that is not seen. */
  @Override
  public Optional<Runnable> onGone(HttpRequest<?> request, Runnable task) {
    return channel(request)
        .map(
            channel -> {
              ChannelFutureListener listener = closed -> task.run();
              channel.closeFuture().addListener(listener);
              return () -> channel.closeFuture().removeListener(listener);
            });
  }

  @Override
  public boolean closeWebSocket(HttpRequest<?> request, boolean later) {
    return channel(request)
        .map(channel -> channel.attr(NettyWebSocketSession.WEB_SOCKET_SESSION_KEY).get())
        .map(
            session -> {
              session.close(later ? CloseReason.TRY_AGAIN_LATER : CloseReason.POLICY_VIOLATION);
              return true;
            })
        .orElse(false);
  }

  /** At once where the loop has had the answer itself: another turn would only cost time. */
  private static void run(EventLoop loop, Runnable task) {
    if (loop.inEventLoop()) {
      task.run();
    } else {
      loop.execute(task);
    }
  }

  /**
   * Threads of event loops that the application configures itself are not Reactor's NonBlocking.
   */
  @Override
  public boolean isEventLoop() {
    return ThreadExecutorMap.currentExecutor() instanceof EventLoop;
  }
}
