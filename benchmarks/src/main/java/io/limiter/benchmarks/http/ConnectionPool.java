// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.HttpResponseDecoder;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A fixed number of connections to one address, all on one thread. */
final class ConnectionPool implements AutoCloseable {

  private static final int CONNECT_MILLIS = 5_000;
  private static final String REQUEST = "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n";

  private final EventLoopGroup loop =
      new MultiThreadIoEventLoopGroup(
          1, new DefaultThreadFactory("http-load", true), NioIoHandler.newFactory());
  private final List<HttpConnection> connections = new ArrayList<>();

  private ConnectionPool() {}

  /**
   * Returns when all of them are open.
   *
   * @throws IllegalStateException if the service does not listen
   */
  static ConnectionPool open(URI uri, int count, HttpConnection.Listener listener) {
    ConnectionPool opened = new ConnectionPool();
    try {
      for (int i = 0; i < count; i++) {
        opened.connections.add(opened.connect(uri, listener));
      }
      return opened;
    } catch (Exception failure) { // Netty throws checked ones too
      opened.close();
      throw new IllegalStateException(
          uri + " accepts no connection: " + failure.getMessage(), failure);
    }
  }

  private HttpConnection connect(URI uri, HttpConnection.Listener listener) {
    ByteBuf request =
        Unpooled.copiedBuffer(REQUEST.formatted(target(uri), uri.getAuthority()), US_ASCII);
    Channel channel =
        new Bootstrap()
            .group(loop)
            .channel(NioSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel opened) {
                    opened
                        .pipeline()
                        .addLast(
                            new HttpResponseDecoder(),
                            new HttpConnection(opened, request, listener));
                  }
                })
            .connect(uri.getHost(), uri.getPort())
            .syncUninterruptibly()
            .channel();
    return channel.pipeline().get(HttpConnection.class);
  }

  private static String target(URI uri) {
    return uri.getRawQuery() == null
        ? uri.getRawPath()
        : uri.getRawPath() + '?' + uri.getRawQuery();
  }

  /** Runs something on the thread that all of them belong to. */
  void execute(Runnable task) {
    loop.execute(task);
  }

  List<HttpConnection> all() {
    return connections;
  }

  @Override
  public void close() {
    loop.shutdownGracefully(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
  }
}
