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
 * Bounds the commands that wait for an answer on one channel, in number and in time.
 *
 * <p>In number: one too many is refused. Lettuce would refuse it too, but logs a stack trace for
 * each.
 *
 * <p>In time: a deadline is to measure Redis, and a clock that runs while this event loop does not
 * would measure this process: it may load classes, collect garbage, or wait for a processor while
 * the answer lies in its socket. So the time that counts is the loop's own, which a tick advances
 * while a command waits, and by {@link #MOST_NANOS} at most, however late the tick comes. A command
 * whose time is over waits for one more tick, before which the loop reads.
 *
 * <p>Nothing is stored here: the commands are those that Lettuce keeps to match replies with. There
 * a command stays that has expired, until its reply comes or the channel ends. All of it belongs to
 * the channel's event loop.
 */
public final class UnansweredCommands extends ChannelOutboundHandlerAdapter {

  /** Between two ticks. */
  static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** Above zero, so that the loop selects and reads in between. */
  static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /**
   * What one tick counts at most. A loop that is later than this did not run; on a machine without
   * a free processor it is so at each tick, and Redis may be as late for the same reason.
   */
  static final long MOST_NANOS = TICK_NANOS + LOOK_NANOS;

  private final Queue<? extends RedisCommand<?, ?, ?>> unanswered;
  private final int most;
  private final LongSupplier nanoTime;
  private boolean ticking;
  private long lastTick;

  /** Time that has counted. Other threads read it only to say how late the loop is. */
  private long counted;

  /** The bound of a channel that has all of Lettuce's handlers, for the end of its pipeline. */
  static UnansweredCommands of(CommandHandler commands) {
    return new UnansweredCommands(commands.getStack(), LettuceClients.MAX_QUEUED, System::nanoTime);
  }

  /**
   * @param nanoTime a clock that is never set back
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
      long now = nanoTime.getAsLong();
      if (!ticking) {
        lastTick = now;
        tickAfter(TICK_NANOS, context);
      }
      if (!timed.handOver(this, now, ownNanos(now))) {
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
    long now = nanoTime.getAsLong();
    counted = ownNanos(now);
    lastTick = now;
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
      if (waiter != null && timed.isOver(waiter, now, counted)) {
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
    // What follows an expiry may send commands, so the queue is not looked through any more.
    for (TimedCommand<?, ?, ?> timed : over) {
      TimedCommand.Waiter waiter = timed.waiter();
      if (waiter != null && !timed.isExpired()) {
        timed.expire(waiter, now, counted);
      }
    }
  }

  private long ownNanos(long now) {
    return counted + Math.min(now - lastTick, MOST_NANOS);
  }

  /** The event loop's own time; where it starts does not matter. On the event loop. */
  long ownNanos() {
    return ticking ? ownNanos(nanoTime.getAsLong()) : counted;
  }

  /** The same as of the last tick. On any thread. */
  long countedNanos() {
    return counted;
  }
}
