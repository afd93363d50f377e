// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.http.netty.channel.ChannelPipelineCustomizer;
import io.micronaut.http.server.netty.NettyServerCustomizer;
import io.micronaut.inject.qualifiers.Qualifiers;
import io.micronaut.websocket.annotation.ServerWebSocket;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.util.concurrent.FastThreadLocal;
import jakarta.inject.Singleton;
import org.jspecify.annotations.Nullable;

/**
 * Knows the WebSocket that an event loop handles at the moment. Micronaut 5 submits the tasks of a
 * WebSocket without its request, on the event loop: in the turn in which it reads a message, and
 * after it has written the response that opens the WebSocket. An application without WebSockets has
 * no such handlers, and Micronaut has no WebSockets over HTTP/2.
 */
@Singleton
@Requires(classes = {NettyServerCustomizer.class, ServerWebSocket.class})
final class WebSocketChannels implements BeanCreatedEventListener<NettyServerCustomizer.Registry> {

  private static final String HANDLER = "limiter-websocket-channel";

  private static final FastThreadLocal<Channel> READING = new FastThreadLocal<>();
  private static final FastThreadLocal<Channel> OPENING = new FastThreadLocal<>();

  private final BeanContext beans;

  WebSocketChannels(BeanContext beans) {
    this.beans = beans;
  }

  /** The WebSocket whose message the current thread has read and handles now. */
  static @Nullable Channel reading() {
    return READING.getIfExists();
  }

  /** The WebSocket that the current thread opened last, if it is still open. */
  static @Nullable Channel opening() {
    return OPENING.getIfExists();
  }

  @Override
  public NettyServerCustomizer.Registry onCreated(
      BeanCreatedEvent<NettyServerCustomizer.Registry> event) {
    NettyServerCustomizer.Registry server = event.getBean();
    if (!beans.getBeanDefinitions(Qualifiers.byStereotype(ServerWebSocket.class)).isEmpty()) {
      server.register(new Connection(null));
    }
    return server;
  }

  /**
   * A connection.
   *
   * @param channel null for any, before there is one, and for streams of HTTP/2
   */
  private record Connection(@Nullable Channel channel) implements NettyServerCustomizer {

    @Override
    public NettyServerCustomizer specializeForChannel(Channel opened, ChannelRole role) {
      return new Connection(role == ChannelRole.CONNECTION ? opened : null);
    }

    /** Also called for HTTP/1.1 alone, once it is negotiated. */
    @Override
    public void onStreamPipelineBuilt() {
      ChannelPipeline pipeline = channel == null ? null : channel.pipeline();
      // Micronaut puts its handler of messages, and the codecs of frames, around this one.
      if (pipeline != null
          && pipeline.context(ChannelPipelineCustomizer.HANDLER_MICRONAUT_INBOUND) != null) {
        pipeline.addBefore(
            ChannelPipelineCustomizer.HANDLER_MICRONAUT_INBOUND, HANDLER, CurrentChannel.INSTANCE);
      }
    }
  }

  /** Notes the channel of each message while it is handled. */
  @Sharable
  private static final class CurrentChannel extends ChannelDuplexHandler {

    static final CurrentChannel INSTANCE = new CurrentChannel();

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      if (!(message instanceof WebSocketFrame)) {
        context.fireChannelRead(message);
        return;
      }
      Channel before = READING.getIfExists();
      READING.set(context.channel());
      try {
        context.fireChannelRead(message);
      } finally {
        if (before == null) {
          READING.remove();
        } else {
          READING.set(before);
        }
      }
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
      if (message instanceof HttpResponse response
          && response.status().code() == HttpResponseStatus.SWITCHING_PROTOCOLS.code()) {
        OPENING.set(context.channel());
      }
      var unused = context.write(message, promise);
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
      if (OPENING.getIfExists() == context.channel()) {
        OPENING.remove();
      }
    }
  }
}
