// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes a connection on which nothing has arrived for three seconds although commands are
 * unanswered, so that another is opened. A peer that vanished silently is not detected otherwise:
 * keep-alive does not probe while sent data waits to be acknowledged, and TCP gives up after
 * minutes.
 *
 * <p>All of it runs on the channel's event loop.
 */
final class SilenceWatch extends ChannelDuplexHandler {

  private static final Logger LOG = LoggerFactory.getLogger(SilenceWatch.class);

  static final long TICK_MILLIS = 500;

  /** Whole ticks: 2.5 to 3 seconds. */
  static final int MAX_SILENT_TICKS = 5;

  private boolean asked;
  private int silentTicks;
  private @Nullable Future<?> ticking;

  /**
   * After a pause of this process, missed ticks are skipped: run all at once, they would look like
   * silence of Redis.
   */
  @Override
  public void channelActive(ChannelHandlerContext context) throws Exception {
    ticking =
        context
            .executor()
            .scheduleWithFixedDelay(
                () -> tick(context), TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
    super.channelActive(context);
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) throws Exception {
    Future<?> ended = ticking;
    if (ended != null) {
      ended.cancel(false);
    }
    super.channelInactive(context);
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise)
      throws Exception {
    asked = true;
    super.write(context, message, promise);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
    asked = false;
    silentTicks = 0;
    super.channelRead(context, message);
  }

  private void tick(ChannelHandlerContext context) {
    silentTicks = asked ? silentTicks + 1 : 0;
    if (silentTicks > MAX_SILENT_TICKS) {
      String address = ConnectionLog.hostAndPort(context.channel().remoteAddress());
      LOG.warn(
          "Redis{} has been silent for {} ms: closing the connection and opening another",
          address == null ? "" : " at " + address,
          MAX_SILENT_TICKS * TICK_MILLIS);
      var unused = context.close();
    }
  }
}
