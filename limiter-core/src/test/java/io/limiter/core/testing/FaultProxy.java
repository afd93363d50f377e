// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A Redis behind a bad network. It is placed between a client and a {@link RedisProcess}, sees
 * whole replies, and does to connections what networks, proxies and dying servers do. It runs on
 * one thread; each method returns when its fault is in force. Faults last until {@link #pass}.
 */
public final class FaultProxy implements AutoCloseable {

  private final EventLoopGroup loop =
      new MultiThreadIoEventLoopGroup(
          1, new DefaultThreadFactory("fault-proxy", true), NioIoHandler.newFactory());
  private final InetSocketAddress target;
  private final int port;

  // All of these belong to the loop's thread.
  private final Set<FaultLink> links = new HashSet<>();
  private final List<Long> accepted = new ArrayList<>();
  private Channel listener;
  private boolean silent;
  private long delayNanos;
  private long nanosPerByte;
  private ReplyFault fault;
  private Future<?> flapping;

  /** Listens on a free port of loopback, and passes everything to that port of loopback. */
  public FaultProxy(int target) {
    this(new InetSocketAddress(InetAddress.getLoopbackAddress(), target));
  }

  /** The same for a Redis elsewhere, such as in a container. */
  public FaultProxy(InetSocketAddress target) {
    this.target = target;
    this.port = Ports.free();
    listen();
  }

  public int port() {
    return port;
  }

  public String uri() {
    return "redis://127.0.0.1:" + port;
  }

  /** Ends all faults. Connections that were silenced stay so: what they lost is lost. */
  public void pass() {
    onLoop(
        () -> {
          silent = false;
          delayNanos = nanosPerByte = 0;
          fault = null;
          if (flapping != null) {
            flapping.cancel(false);
          }
        });
    listen();
  }

  /** Each reply comes this much later. */
  public void delay(Duration time) {
    onLoop(() -> delayNanos = time.toNanos());
  }

  /** Replies come byte by byte, with this much time before each. */
  public void drip(Duration perByte) {
    onLoop(() -> nanosPerByte = perByte.toNanos());
  }

  /** Accepts and reads, and nothing is sent to either side, no FIN and no RST. */
  public void blackHole() {
    onLoop(() -> silent = true);
    blackHoleOpenConnections();
  }

  /** The same for existing connections; new ones pass. */
  public void blackHoleOpenConnections() {
    onLoop(() -> links.forEach(FaultLink::silence));
  }

  /** Resets existing connections, and accepts no new ones. */
  public void rejectConnections() {
    onLoop(this::stopListening);
    reset();
  }

  /** Resets existing connections. */
  public void reset() {
    onLoop(() -> new ArrayList<>(links).forEach(FaultLink::reset));
  }

  /**
   * Passes this many replies. The next is read from Redis and dropped, so that its command has run,
   * and the client sees RST. Once.
   */
  public void cutAfterReplies(int passed) {
    arm(ReplyFault.cut(passed));
  }

  /** Passes this many replies and loses the next. Once. */
  public void swallowReplyAfter(int passed) {
    arm(ReplyFault.instead(passed));
  }

  /** Passes this many replies and sends the next twice. Once. */
  public void duplicateReplyAfter(int passed) {
    arm(ReplyFault.twice(passed));
  }

  /** Passes this many replies and sends this text instead of the next. Once. */
  public void replaceReplyAfter(int passed, String text) {
    arm(ReplyFault.instead(passed, text));
  }

  /** Sends these bytes instead of the next reply. Once. */
  public void replaceReply(byte[] bytes) {
    arm(ReplyFault.instead(0, List.of(bytes)));
  }

  /** Rejects and passes in turn, each for this long. */
  public void flap(Duration half) {
    onLoop(
        () ->
            flapping =
                loop.scheduleAtFixedRate(
                    () -> {
                      if (listener == null) {
                        bind();
                      } else {
                        stopListening();
                        new ArrayList<>(links).forEach(FaultLink::reset);
                      }
                    },
                    0,
                    half.toNanos(),
                    TimeUnit.NANOSECONDS));
  }

  /** Connections accepted so far. */
  public int accepted() {
    return acceptedAt().size();
  }

  /** When they were accepted, in nanoseconds of {@link System#nanoTime}, the earliest first. */
  public List<Long> acceptedAt() {
    return loop.submit(() -> List.copyOf(accepted)).syncUninterruptibly().getNow();
  }

  /** Connections open now. */
  public int open() {
    return loop.submit(links::size).syncUninterruptibly().getNow();
  }

  /** Whether the fault of a reply has not occurred yet. */
  public boolean armed() {
    return loop.submit(() -> fault != null).syncUninterruptibly().getNow();
  }

  @Override
  public void close() {
    if (loop.isShuttingDown()) {
      return;
    }
    rejectConnections();
    loop.shutdownGracefully(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
  }

  private void arm(ReplyFault next) {
    onLoop(() -> fault = next);
  }

  private void reply(FaultLink link, byte[] reply) {
    if (fault == null || fault.passes()) {
      link.write(reply, delayNanos, nanosPerByte);
      return;
    }
    ReplyFault now = fault;
    fault = null;
    if (now.cuts()) {
      link.reset();
    }
    now.outcome(reply).forEach(one -> link.write(one, delayNanos, nanosPerByte));
  }

  private void onLoop(Runnable task) {
    loop.submit(task).syncUninterruptibly();
  }

  private void stopListening() {
    if (listener != null) {
      listener.close();
      listener = null;
    }
  }

  private void listen() {
    loop.submit(this::bind).syncUninterruptibly().getNow().syncUninterruptibly();
  }

  private ChannelFuture bind() {
    if (listener != null) {
      return listener.newSucceededFuture();
    }
    ChannelFuture bound =
        new ServerBootstrap()
            .group(loop)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childOption(ChannelOption.AUTO_READ, false)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel client) {
                    accept(client);
                  }
                })
            .bind(InetAddress.getLoopbackAddress(), port);
    listener = bound.channel();
    return bound;
  }

  private void accept(Channel client) {
    accepted.add(System.nanoTime());
    FaultLink link = new FaultLink(client);
    links.add(link);
    if (silent) {
      link.silence();
    }
    client.pipeline().addLast(link.fromClient(links::remove));
    link.connect(loop, target, this::reply);
  }
}
