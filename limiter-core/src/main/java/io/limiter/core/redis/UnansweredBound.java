// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.protocol.RedisCommand;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import java.util.Queue;

/**
 * Refuses a command when as many as may wait for an answer on this channel do. Lettuce would refuse
 * it too, but logs a stack trace for each.
 *
 * <p>Nothing is counted here: what Lettuce itself keeps to match replies with is asked for its
 * size. There a command stays whose caller has gone, as its reply is still to come, until that does
 * or the channel ends. All of it belongs to the channel's event loop.
 */
final class UnansweredBound extends ChannelOutboundHandlerAdapter {

  private final Queue<?> unanswered;
  private final int most;

  /** The bound of a channel that has all of Lettuce's handlers, for the end of its pipeline. */
  static UnansweredBound of(CommandHandler commands) {
    return new UnansweredBound(commands.getStack(), RedisClients.MAX_QUEUED);
  }

  UnansweredBound(Queue<?> unanswered, int most) {
    this.unanswered = unanswered;
    this.most = most;
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise)
      throws Exception {
    if (unanswered.size() >= most && message instanceof RedisCommand<?, ?, ?> command) {
      promise.trySuccess(); // a failure is what Lettuce logs
      command.completeExceptionally(
          new StoreException(
              FailureReason.OVERLOADED, "Too many commands wait for Redis to answer", null));
    } else {
      super.write(context, message, promise);
    }
  }
}
