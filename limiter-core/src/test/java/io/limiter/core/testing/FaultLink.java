// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** One client's connection through a {@link FaultProxy}, and its other half. Loop thread only. */
final class FaultLink {

  private final Channel client;
  private final RespReplies replies = new RespReplies();
  private Channel server;
  private boolean silent;
  private final Queue<Part> leaving = new ArrayDeque<>();
  private long lastLeaves = System.nanoTime();
  private boolean draining;

  private record Part(ByteBuf bytes, long leaves) {}

  FaultLink(Channel client) {
    this.client = client;
  }

  /** Opens the other half, and gives its replies to the consumer. */
  void connect(EventLoopGroup loop, InetSocketAddress target, BiConsumer<FaultLink, byte[]> reply) {
    new Bootstrap()
        .group(loop)
        .channel(NioSocketChannel.class)
        .option(ChannelOption.TCP_NODELAY, true)
        .handler(fromServer(reply))
        .connect(target)
        .addListener(
            (ChannelFutureListener)
                connecting -> {
                  if (connecting.isSuccess()) {
                    server = connecting.channel();
                    client.config().setAutoRead(true);
                  } else {
                    reset();
                  }
                });
  }

  /**
   * From now on everything that either side sends is read and lost, the end of a connection too.
   */
  void silence() {
    silent = true;
  }

  /** Writes to the client, after what is on its way already. */
  void write(byte[] bytes, long delayNanos, long nanosPerByte) {
    lastLeaves = Math.max(System.nanoTime() + delayNanos, lastLeaves);
    int step = nanosPerByte == 0 ? bytes.length : 1;
    for (int i = 0; i < bytes.length; i += step) {
      lastLeaves += nanosPerByte;
      leaving.add(new Part(Unpooled.wrappedBuffer(bytes, i, step), lastLeaves));
    }
    if (!draining) {
      drain();
    }
  }

  private void drain() {
    draining = false;
    for (Part next = leaving.peek(); next != null; next = leaving.peek()) {
      long wait = next.leaves - System.nanoTime();
      if (wait > 0) {
        draining = true;
        client.eventLoop().schedule(this::drain, wait, TimeUnit.NANOSECONDS);
        return;
      }
      client.writeAndFlush(leaving.remove().bytes);
    }
  }

  /** Both sides see RST. */
  void reset() {
    reset(client);
    if (server != null) {
      reset(server);
    }
  }

  private static void reset(Channel channel) {
    if (channel.isOpen()) {
      channel.config().setOption(ChannelOption.SO_LINGER, 0);
      channel.close();
    }
  }

  ChannelInboundHandlerAdapter fromClient(Consumer<FaultLink> closed) {
    return new Side() {
      @Override
      void read(byte[] bytes) {
        if (!silent) {
          server.writeAndFlush(Unpooled.wrappedBuffer(bytes));
        }
      }

      @Override
      public void channelInactive(ChannelHandlerContext context) {
        closed.accept(FaultLink.this);
        if (server != null) {
          server.close();
        }
      }
    };
  }

  private ChannelInboundHandlerAdapter fromServer(BiConsumer<FaultLink, byte[]> reply) {
    return new Side() {
      @Override
      void read(byte[] bytes) {
        for (byte[] one : replies.add(bytes)) {
          if (!silent && client.isOpen()) {
            reply.accept(FaultLink.this, one);
          }
        }
      }

      @Override
      public void channelInactive(ChannelHandlerContext context) {
        if (!silent) {
          client.close();
        }
      }
    };
  }

  private abstract static class Side extends ChannelInboundHandlerAdapter {

    abstract void read(byte[] bytes);

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      ByteBuf buffer = (ByteBuf) message;
      try {
        read(ByteBufUtil.getBytes(buffer));
      } finally {
        buffer.release();
      }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable reset) {
      context.close();
    }
  }
}
