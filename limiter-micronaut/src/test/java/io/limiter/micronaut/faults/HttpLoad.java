// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import io.limiter.core.testing.Pauses;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;

/**
 * GET requests at a steady rate, whether or not the earlier ones are answered, as clients send them
 * who know nothing of each other; each over a connection that is kept and is free just then. The
 * time of an answer counts from the moment at which its request was due, so that nothing is hidden
 * by a client that had to wait itself. One thread does it all.
 */
final class HttpLoad implements AutoCloseable {

  /** The header with the client of a request. */
  static final String CALLER = "X-Caller";

  private static final String THREAD = "http-load";
  private static final int MAX_ANSWER = 1 << 16;

  private final EventLoopGroup loop =
      new MultiThreadIoEventLoopGroup(
          1, new DefaultThreadFactory(THREAD, true), NioIoHandler.newFactory());
  private final LongFunction<String> paths;
  private final Answered answered;
  private final int callers;

  private volatile long intervalNanos;

  // All of these belong to the loop's thread.
  private final Queue<Channel> idle = new ArrayDeque<>();
  private final Queue<Asked> waiting = new ArrayDeque<>();
  private long number;
  private long due;
  private boolean stopped;

  /** Answers whose pauses are not known yet: those of the last milliseconds. */
  private final Queue<Done> done = new ArrayDeque<>();

  private volatile Tally tally = new Tally();

  /** A request, counted where the load was when it was due. */
  private record Asked(String path, long caller, long due, Tally tally) {}

  private record Done(Asked asked, int status, long answered) {}

  private HttpLoad(int callers, int perSecond, LongFunction<String> paths, Answered answered) {
    this.callers = callers;
    this.intervalNanos = TimeUnit.SECONDS.toNanos(1) / perSecond;
    this.paths = paths;
    this.answered = answered;
  }

  /** Receives each response, on the load's thread. */
  interface Answered {
    void answer(String path, int status, String body);
  }

  /**
   * Connects, and begins.
   *
   * @param callers they take turns
   * @param paths the path of each request by its number
   */
  static HttpLoad start(
      int port,
      int connections,
      int callers,
      int perSecond,
      LongFunction<String> paths,
      Answered answered) {
    Pauses.watch();
    HttpLoad load = new HttpLoad(callers, perSecond, paths, answered);
    for (int i = 0; i < connections; i++) {
      load.connect(port);
    }
    load.loop.execute(
        () -> {
          load.due = System.nanoTime();
          var unused = load.loop.scheduleAtFixedRate(load::send, 0, 1, TimeUnit.MILLISECONDS);
        });
    return load;
  }

  /** Continues at another rate. */
  void continueAt(int perSecond) {
    intervalNanos = TimeUnit.SECONDS.toNanos(1) / perSecond;
  }

  /** Ends the count of what was due until now, and begins another. */
  Tally nextTally() {
    Tally ended = tally;
    tally = new Tally();
    return ended;
  }

  /** Sends no more; what was sent may still be answered. */
  Tally stop() {
    loop.submit(() -> stopped = true).syncUninterruptibly();
    return tally;
  }

  private void send() {
    long now = System.nanoTime();
    for (; !stopped && now - due >= 0; due += intervalNanos) {
      Asked asked = new Asked(paths.apply(number), number % callers, due, tally);
      number++;
      asked.tally.sent.incrementAndGet();
      Channel free = idle.poll();
      if (free == null) {
        waiting.add(asked);
      } else {
        write(free, asked);
      }
    }
    while (!done.isEmpty() && Pauses.areKnownUntil(done.element().answered)) {
      Done answer = done.remove();
      answer.asked.tally.answered(answer.status, answer.asked.due, answer.answered);
    }
  }

  private void write(Channel channel, Asked asked) {
    channel.pipeline().get(Answers.class).asked = asked;
    FullHttpRequest request =
        new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, asked.path);
    request.headers().set(HttpHeaderNames.HOST, "localhost").set(CALLER, asked.caller);
    var unused = channel.writeAndFlush(request);
  }

  private void connect(int port) {
    Channel channel =
        new Bootstrap()
            .group(loop)
            .channel(NioSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel opened) {
                    opened
                        .pipeline()
                        .addLast(
                            new HttpClientCodec(),
                            new HttpObjectAggregator(MAX_ANSWER),
                            new Answers());
                  }
                })
            .connect(InetAddress.getLoopbackAddress(), port)
            .syncUninterruptibly()
            .channel();
    loop.execute(() -> idle.add(channel));
  }

  /** The answers on one connection, which has one request under way at most. */
  private final class Answers extends SimpleChannelInboundHandler<FullHttpResponse> {

    private Asked asked;

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
      Asked own = asked;
      asked = null;
      if (own == null) {
        tally.strange.incrementAndGet();
        return;
      }
      done.add(new Done(own, response.status().code(), System.nanoTime()));
      answered.answer(
          own.path, response.status().code(), response.content().toString(StandardCharsets.UTF_8));
      Asked next = waiting.poll();
      if (next == null) {
        idle.add(context.channel());
      } else {
        write(context.channel(), next);
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      if (!loop.isShuttingDown()) {
        idle.remove(context.channel());
        tally.strange.incrementAndGet();
      }
    }
  }

  @Override
  public void close() {
    loop.shutdownGracefully(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
  }
}
