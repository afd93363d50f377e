// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.handler.flush.FlushConsolidationHandler;

/**
 * Adds the limiter's handlers to each channel that Lettuce opens: at first, and at each reconnect.
 */
final class WatchedChannel implements NettyCustomizer {

  /** The most writes that wait for one flush. */
  private static final int MAX_CONSOLIDATED = 256;

  private final boolean consolidated;

  /**
   * @param consolidated whether everything written in one turn of the channel's event loop is sent
   *     at its end, instead of packet by packet
   */
  WatchedChannel(boolean consolidated) {
    this.consolidated = consolidated;
  }

  @Override
  public void afterChannelInitialized(Channel opened) {
    opened.pipeline().addFirst(new SilenceWatch());
    if (consolidated) {
      opened.pipeline().addFirst(new FlushConsolidationHandler(MAX_CONSOLIDATED, true));
    }
    opened.pipeline().addLast(UnansweredCommands.of(opened.pipeline().get(CommandHandler.class)));
  }
}
