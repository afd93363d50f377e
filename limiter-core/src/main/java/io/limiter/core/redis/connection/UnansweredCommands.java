// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.ValueListOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.wire.DecisionBatching;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.redis.wire.EncodedCall;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.concurrent.Future;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds the commands that wait for a reply on one channel, in number and in time, and sends the
 * decisions of one turn together.
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
 * <p>The commands are those that Lettuce keeps to match replies. An expired command stays there
 * until its reply arrives or the channel ends.
 *
 * <p>Decisions that are written in one turn of the event loop are sent at its end, as one command
 * ({@link DecisionBatch}), or before, once the command has no room for another. A decision that is
 * alone in its turn is sent as it is. So no decision waits for a timer, and under more load more
 * decisions share a command.
 *
 * <p>All of this runs on the channel's event loop.
 */
final class UnansweredCommands extends ChannelDuplexHandler {

  private static final Logger LOG = LoggerFactory.getLogger(UnansweredCommands.class);

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
  private final boolean consolidates;
  private final LongSupplier nanoTime;

  /** The decisions of this turn that are not sent yet; they may share a command. */
  private List<TimedCommand<byte[], byte[], byte[]>> collected = new ArrayList<>();

  /** The time of Redis that they need together. */
  private int collectedMicros;

  /** Whether a task is to send them, and to flush. */
  private boolean scheduled;

  /** Whether decisions share commands; not while Redis does not have the script for that. */
  private boolean joins = true;

  /** By how many the decisions that wait for a reply exceed their commands. */
  private final AtomicInteger joined = new AtomicInteger();

  /** The next tick; null while no command waits. */
  private @Nullable Future<?> tick;

  private long lastTickNanos;

  /**
   * The time that has counted, in nanoseconds. Other threads read it only to report how late the
   * loop is.
   */
  private long countedNanos;

  /**
   * Creates the handler for a channel that has all of Lettuce's handlers, to be added at the end of
   * its pipeline.
   */
  static UnansweredCommands of(CommandHandler commands, boolean consolidates) {
    return new UnansweredCommands(
        commands.getStack(), LettuceClients.MAX_QUEUED, consolidates, System::nanoTime);
  }

  /**
   * @param consolidates whether everything that is written in one turn is flushed at its end, not
   *     only decisions
   * @param nanoTime a monotonic clock
   */
  UnansweredCommands(
      Queue<? extends RedisCommand<?, ?, ?>> unanswered,
      int most,
      boolean consolidates,
      LongSupplier nanoTime) {
    this.unanswered = unanswered;
    this.most = most;
    this.consolidates = consolidates;
    this.nanoTime = nanoTime;
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise)
      throws Exception {
    if (unanswered.size() + collected.size() + joined.get() >= most
        && message instanceof RedisCommand<?, ?, ?> command) {
      promise.trySuccess(); // Lettuce would log a failure
      command.completeExceptionally(
          new StoreException(
              FailureReason.OVERLOADED, "Too many commands wait for a reply from Redis", null));
      return;
    }
    TimedCommand<?, ?, ?> timed = TimedCommand.of(message);
    if (timed != null && timed.getDelegate() instanceof EncodedCall decision && joins) {
      collect(context, timed, decision, promise);
      return;
    }
    sendCollected(context); // commands keep their order
    DecisionBatch again = DecisionBatch.of(message);
    if (again != null) { // by Lettuce, after a reconnect
      promise.trySuccess();
      again.completeExceptionally(notSent(null));
      return;
    }
    if (timed == null || isHandedOver(context, timed, promise)) {
      super.write(context, message, promise);
    }
  }

  /** Whether the command is sent now. */
  private boolean isHandedOver(
      ChannelHandlerContext context, TimedCommand<?, ?, ?> timed, ChannelPromise promise) {
    long nowNanos = nanoTime.getAsLong();
    if (tick == null) {
      lastTickNanos = nowNanos;
      tickAfter(TICK_NANOS, context);
    }
    if (timed.handOver(this, nowNanos, ownNanos(nowNanos))) {
      return true;
    }
    promise.trySuccess();
    timed.completeExceptionally(notSent(null));
    return false;
  }

  private static RedisException notSent(@Nullable Throwable cause) {
    return new RedisException("Currently not connected. A command is sent at most once.", cause);
  }

  /**
   * Keeps a decision for the end of this turn: a task runs after all that the loop has read, and
   * after all tasks that were queued before it.
   */
  @SuppressWarnings("unchecked") // a decision has bytes only
  private void collect(
      ChannelHandlerContext context,
      TimedCommand<?, ?, ?> timed,
      EncodedCall decision,
      ChannelPromise promise) {
    if (!timed.collect(promise)) {
      var unused = isHandedOver(context, timed, promise); // it is not, and fails
      return;
    }
    if (!collected.isEmpty()
        && !decision.mayJoin(decision(collected.get(0)), collected.size(), collectedMicros)) {
      sendCollected(context);
    }
    collected.add((TimedCommand<byte[], byte[], byte[]>) timed);
    collectedMicros += decision.micros();
    if (decision.isFull(collected.size(), collectedMicros)) {
      sendCollected(context);
      flush(context); // unless turns are consolidated, Redis decides while the loop collects
    } else {
      endTurn(context);
    }
  }

  /** Has this turn end with a flush. */
  private void endTurn(ChannelHandlerContext context) {
    if (scheduled) {
      return;
    }
    scheduled = true;
    try {
      context.executor().execute(() -> sendAtTheEnd(context));
    } catch (RejectedExecutionException ended) { // the event loop is about to end
      sendAtTheEnd(context);
    }
  }

  private static EncodedCall decision(TimedCommand<byte[], byte[], byte[]> collected) {
    return (EncodedCall) collected.getDelegate();
  }

  private void sendAtTheEnd(ChannelHandlerContext context) {
    scheduled = false;
    sendCollected(context);
    context.flush();
  }

  /**
   * Writes what was collected, except for what was withdrawn since. It is flushed at the end of the
   * turn at the latest.
   */
  private void sendCollected(ChannelHandlerContext context) {
    if (collected.isEmpty()) {
      return;
    }
    collectedMicros = 0;
    if (collected.size() == 1) {
      TimedCommand<byte[], byte[], byte[]> alone = collected.remove(0);
      if (isSent(context, alone)) {
        var unused = context.write(alone, alone.promise());
      }
      return;
    }
    List<TimedCommand<byte[], byte[], byte[]>> sent = collected;
    collected = new ArrayList<>();
    sent.removeIf(one -> !isSent(context, one));
    if (sent.size() == 1) {
      var unused = context.write(sent.get(0), sent.get(0).promise());
    } else if (!sent.isEmpty()) {
      sendTogether(context, sent);
    }
  }

  private boolean isSent(
      ChannelHandlerContext context, TimedCommand<byte[], byte[], byte[]> collected) {
    if (collected.isDone()) { // cancelled
      collected.promise().trySuccess();
      return false;
    }
    return isHandedOver(context, collected, collected.promise());
  }

  private void sendTogether(
      ChannelHandlerContext context, List<TimedCommand<byte[], byte[], byte[]>> parts) {
    parts.forEach(TimedCommand::share);
    joined.addAndGet(parts.size() - 1);
    DecisionBatching batching = Objects.requireNonNull(decision(parts.get(0)).batching());
    DecisionBatch together =
        new DecisionBatch(
            batching,
            parts,
            ended -> {
              joined.addAndGet(1 - ended.parts().size());
              if (ended.isScriptMissing()) {
                load(context, batching.script());
              }
            });
    context
        .write(together)
        .addListener(
            done -> {
              if (!done.isSuccess()) {
                together.completeExceptionally(notSent(done.cause()));
              }
            });
  }

  /**
   * Loads the script of several decisions, by running it for none of them: a Redis that rejects
   * SCRIPT LOAD still runs decisions. Until it has the script, each decision is sent alone; if it
   * rejects the script, all are from now on.
   */
  private void load(ChannelHandlerContext context, RedisScript script) {
    if (!joins) {
      return;
    }
    joins = false;
    AsyncCommand<byte[], byte[], List<byte[]>> load =
        new AsyncCommand<>(
            new Command<>(
                CommandType.EVAL,
                new ValueListOutput<>(ByteArrayCodec.INSTANCE),
                new CommandArgs<>(ByteArrayCodec.INSTANCE)
                    .add(script.text().getBytes(StandardCharsets.UTF_8))
                    .add(0)
                    .add(new byte[0])));
    load.onComplete(
        (none, failure) -> {
          if (failure == null) {
            joins = true;
          } else if (failure instanceof RedisCommandExecutionException) {
            LOG.warn(
                "{} to the batch script: each call is sent alone on this connection",
                RedisFailures.translate(failure, "Redis").getMessage());
          }
        });
    var unused = context.writeAndFlush(load);
  }

  /** While something is collected, the end of the turn flushes everything. */
  @Override
  public void flush(ChannelHandlerContext context) {
    if (!collected.isEmpty()) {
      return;
    }
    if (consolidates) {
      endTurn(context);
    } else {
      context.flush();
    }
  }

  /** What was written before in this turn is sent. */
  @Override
  public void close(ChannelHandlerContext context, ChannelPromise promise) {
    context.flush();
    var unused = context.close(promise);
  }

  private void tickAfter(long nanos, ChannelHandlerContext context) {
    tick = context.executor().schedule(() -> tick(context), nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Ends the ticks with the last reply: an idle loop of NIO spins for the last half of a
   * millisecond before a task is due.
   */
  @Override
  public void channelReadComplete(ChannelHandlerContext context) throws Exception {
    Future<?> due = tick;
    if (due != null && unanswered.isEmpty()) {
      countedNanos = ownNanos();
      tick = null;
      due.cancel(false);
    }
    super.channelReadComplete(context);
  }

  private void tick(ChannelHandlerContext context) {
    long nowNanos = nanoTime.getAsLong();
    countedNanos = ownNanos(nowNanos);
    lastTickNanos = nowNanos;
    boolean waited = false;
    boolean looks = false;
    List<TimedCommand<?, ?, ?>> over = List.of();
    for (RedisCommand<?, ?, ?> command : unanswered) {
      for (TimedCommand<?, ?, ?> timed : timed(command)) {
        if (timed.isExpired()) {
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
    }
    tick = null;
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

  /** The timed commands of a command: itself, those that it decides together, or none. */
  private static List<? extends TimedCommand<?, ?, ?>> timed(RedisCommand<?, ?, ?> command) {
    TimedCommand<?, ?, ?> timed = TimedCommand.of(command);
    if (timed != null) {
      return List.of(timed);
    }
    DecisionBatch together = DecisionBatch.of(command);
    return together == null ? List.of() : together.parts();
  }

  private long ownNanos(long nowNanos) {
    return countedNanos + Math.min(nowNanos - lastTickNanos, MOST_NANOS);
  }

  /** The event loop's own time; its origin is irrelevant. On the event loop. */
  long ownNanos() {
    return tick != null ? ownNanos(nanoTime.getAsLong()) : countedNanos;
  }

  /** The event loop's own time as of the last tick. On any thread. */
  long countedNanos() {
    return countedNanos;
  }
}
