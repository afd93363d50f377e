// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisException;
import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.protocol.RedisCommand;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Bounds the commands that wait for a reply on one channel, in number and in time.
 *
 * <p>In number: a command above the bound fails. Lettuce would reject it too, but logs a stack
 * trace for each.
 *
 * <p>In time: a deadline has to measure Redis. A clock that runs while this event loop does not
 * would measure this process, which may load classes, collect garbage, or wait for a processor
 * while the reply is in its socket. So the time that counts is the loop's own: a tick advances it
 * while a command waits, by {@link #MOST_NANOS} at most, however late the tick comes. A command
 * whose time is over waits for one more tick, before which the loop reads.
 *
 * <p>Nothing is stored here: the commands are those that Lettuce keeps to match replies. An expired
 * command stays there until its reply arrives or the channel ends. All of this runs on the
 * channel's event loop.
 */
final class UnansweredCommands extends ChannelOutboundHandlerAdapter {

  /** Between two ticks. */
  static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** Above zero, so that the loop selects and reads in between. */
  static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /**
   * The most that one tick counts. A loop that is later than this did not run; on a machine without
   * a free processor that is so at each tick, and Redis may be late for the same reason.
   */
  static final long MOST_NANOS = TICK_NANOS + LOOK_NANOS;

  private final Queue<? extends RedisCommand<?, ?, ?>> unanswered;
  private final int most;
  private final LongSupplier nanoTime;
  private boolean ticking;
  private long lastTick;

  /**
   * The time that has counted, in nanoseconds. Other threads read it only to report how late the
   * loop is.
   */
  private long countedNanos;

  /**
   * Creates the handler for a channel that has all of Lettuce's handlers, to be added at the end of
   * its pipeline.
   */
  static UnansweredCommands of(CommandHandler commands) {
    return new UnansweredCommands(commands.getStack(), LettuceClients.MAX_QUEUED, System::nanoTime);
  }

  /**
   * @param nanoTime a monotonic clock
   */
  UnansweredCommands(
      Queue<? extends RedisCommand<?, ?, ?>> unanswered, int most, LongSupplier nanoTime) {
    this.unanswered = unanswered;
    this.most = most;
    this.nanoTime = nanoTime;
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise)
      throws Exception {
    if (unanswered.size() >= most && message instanceof RedisCommand<?, ?, ?> command) {
      promise.trySuccess(); // a failure is what Lettuce logs
      command.completeExceptionally(
          new StoreException(
              FailureReason.OVERLOADED, "Too many commands wait for Redis to answer", null));
      return;
    }
    TimedCommand<?, ?, ?> timed = TimedCommand.of(message);
    if (timed != null) {
      long nowNanos = nanoTime.getAsLong();
      if (!ticking) {
        lastTick = nowNanos;
        tickAfter(TICK_NANOS, context);
      }
      if (!timed.handOver(this, nowNanos, ownNanos(nowNanos))) {
        promise.trySuccess();
        timed.completeExceptionally(
            new RedisException("Currently not connected. A command is sent once at most."));
        return;
      }
    }
    super.write(context, message, promise);
  }

  private void tickAfter(long nanos, ChannelHandlerContext context) {
    ticking = true;
    var unused = context.executor().schedule(() -> tick(context), nanos, TimeUnit.NANOSECONDS);
  }

  private void tick(ChannelHandlerContext context) {
    long nowNanos = nanoTime.getAsLong();
    countedNanos = ownNanos(nowNanos);
    lastTick = nowNanos;
    boolean waited = false;
    boolean looks = false;
    List<TimedCommand<?, ?, ?>> over = List.of();
    for (RedisCommand<?, ?, ?> command : unanswered) {
      TimedCommand<?, ?, ?> timed = TimedCommand.of(command);
      if (timed == null || timed.isExpired()) {
        continue;
      }
      waited = true;
      TimedCommand.Waiter waiter = timed.waiter();
      if (waiter != null && timed.isOver(waiter, nowNanos, countedNanos)) {
        over = over.isEmpty() ? new ArrayList<>() : over;
        over.add(timed);
      } else {
        looks |= timed.isOverdue();
      }
    }
    ticking = false;
    if (waited) {
      tickAfter(looks ? LOOK_NANOS : TICK_NANOS, context);
    }
    // Code that runs at an expiry may send commands, so the loop over the queue has to end before.
    for (TimedCommand<?, ?, ?> timed : over) {
      TimedCommand.Waiter waiter = timed.waiter();
      if (waiter != null && !timed.isExpired()) {
        timed.expire(waiter, nowNanos, countedNanos);
      }
    }
  }

  private long ownNanos(long nowNanos) {
    return countedNanos + Math.min(nowNanos - lastTick, MOST_NANOS);
  }

  /** The event loop's own time; its origin is irrelevant. On the event loop. */
  long ownNanos() {
    return ticking ? ownNanos(nanoTime.getAsLong()) : countedNanos;
  }

  /** The event loop's own time as of the last tick. On any thread. */
  long countedNanos() {
    return countedNanos;
  }
}
