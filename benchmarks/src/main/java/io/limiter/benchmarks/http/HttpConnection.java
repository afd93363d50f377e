// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.LastHttpContent;

/**
 * A connection with at most one request under way, always the same. All of it belongs to the thread
 * of its event loop.
 */
final class HttpConnection extends SimpleChannelInboundHandler<HttpObject> {

  private final Channel channel;
  private final ByteBuf request;
  private final Listener listener;
  private long due;
  private int status;
  private boolean asked;

  /** Receives the outcome of requests. */
  interface Listener {

    /**
     * The whole answer has arrived.
     *
     * @param due when the request was to be sent, by {@link System#nanoTime()}
     */
    void answered(HttpConnection connection, int status, long due);

    /**
     * The connection is gone; it is not reopened.
     *
     * @param asked whether a request was under way
     */
    void lost(HttpConnection connection, boolean asked);
  }

  HttpConnection(Channel channel, ByteBuf request, Listener listener) {
    this.channel = channel;
    this.request = request;
    this.listener = listener;
  }

  /**
   * Sends the request.
   *
   * @param due when it was to be sent: its time counts from then
   */
  void send(long due) {
    this.due = due;
    this.asked = true;
    var unused = channel.writeAndFlush(request.retainedDuplicate(), channel.voidPromise());
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, HttpObject part) {
    if (part instanceof HttpResponse head) {
      status = head.decoderResult().isSuccess() ? head.status().code() : 0;
    }
    if (part instanceof LastHttpContent && asked) {
      asked = false;
      listener.answered(this, status, due);
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    listener.lost(this, asked);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    var unused = context.close();
  }
}
