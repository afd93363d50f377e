// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.CommandWrapper;
import io.lettuce.core.protocol.RedisCommand;
import io.limiter.core.redis.wire.EncodedCall;
import io.netty.channel.ChannelPromise;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * A command that records when its connection's event loop handed it to Lettuce's pipeline. That
 * happens at most once: a command that was withdrawn before is never sent, and one that was handed
 * over is never handed over again, whatever Lettuce does with it after a reconnect.
 *
 * <p>{@link UnansweredCommands} hands it over and measures its time.
 */
public final class TimedCommand<K, V, T> extends AsyncCommand<K, V, T> {

  /** The party that waits for the reply, for a bounded time. */
  public interface Waiter {

    /**
     * Nanoseconds that Redis has for the reply, counted from the handover; a part of them is spent.
     */
    long budgetNanos();

    /** The {@link System#nanoTime} at which the wait ends, whichever side is late. */
    long hardDueNanos();

    /** Redis has used up its time. On the event loop. */
    void redisIsLate();

    /**
     * The hard deadline has passed, and Redis has not used up its time. On the event loop.
     *
     * @param standstillNanos for which the event loop did not run
     */
    void processIsLate(long standstillNanos);
  }

  private static final int NEW = 0;
  private static final int HANDED_OVER = 1;
  private static final int WITHDRAWN = 2;

  /** It waits on the event loop for the end of the turn, to be handed over with others. */
  private static final int COLLECTED = 3;

  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<TimedCommand> STATE =
      AtomicIntegerFieldUpdater.newUpdater(TimedCommand.class, "state");

  private volatile int state;

  // Written before the state is.
  private @Nullable UnansweredCommands loop;
  private @Nullable Thread thread;
  private long handedOverNanos;
  private long loopNanos;

  private volatile @Nullable Waiter waiter;

  /** The promise of the write of a collected command. On the event loop. */
  private @Nullable ChannelPromise promise;

  // Accessed by the event loop only: whether the next check decides, whether the wait has ended,
  // and whether the command was sent as a part of another.
  private boolean overdue;
  private boolean expired;
  private boolean shared;

  public TimedCommand(RedisCommand<K, V, T> command) {
    super(command);
  }

  /**
   * Sends a decision by the end of the current turn of the connection's event loop, together with
   * others that are sent in that turn; alone if there are none. Returns null if these are not
   * commands of an {@link AsyncClient}, on whose connections decisions may share a command.
   */
  public static @Nullable RedisFuture<byte[]> send(
      EncodedCall decision, RedisClusterAsyncCommands<byte[], byte[]> commands) {
    if (!(commands instanceof AsyncClient.TimedCommandsApi<byte[], byte[]> timed)) {
      return null;
    }
    TimedCommand<byte[], byte[], byte[]> command = new TimedCommand<>(decision);
    RedisCommand<byte[], byte[], byte[]> unused = timed.getStatefulConnection().dispatch(command);
    return command;
  }

  /** The timed command in a message that Lettuce writes; null if there is none. */
  static @Nullable TimedCommand<?, ?, ?> of(Object message) {
    if (message instanceof TimedCommand<?, ?, ?> timed) {
      return timed;
    }
    return message instanceof CommandWrapper<?, ?, ?> wrapper
        ? CommandWrapper.unwrap(wrapper, TimedCommand.class)
        : null;
  }

  /**
   * Begins to measure, unless the command was withdrawn or handed over before.
   *
   * @param nowNanos the value of {@link System#nanoTime}
   * @param ownNanos the event loop's own time
   */
  boolean handOver(UnansweredCommands to, long nowNanos, long ownNanos) {
    int before = state;
    if (before != NEW && before != COLLECTED) {
      return false;
    }
    loop = to;
    thread = Thread.currentThread();
    handedOverNanos = nowNanos;
    loopNanos = ownNanos;
    return STATE.compareAndSet(this, before, HANDED_OVER);
  }

  /**
   * Keeps the command for the end of this turn of the event loop. Returns false if it was withdrawn
   * or handed over before.
   *
   * @param written the promise of the deferred write
   */
  boolean collect(ChannelPromise written) {
    if (state != NEW) {
      return false;
    }
    thread = Thread.currentThread();
    promise = written;
    return STATE.compareAndSet(this, NEW, COLLECTED);
  }

  /**
   * Prevents the handover; returns false if it has happened. The caller still has to cancel the
   * command.
   */
  public boolean withdraw() {
    return STATE.compareAndSet(this, NEW, WITHDRAWN)
        || STATE.compareAndSet(this, COLLECTED, WITHDRAWN);
  }

  public boolean isHandedOver() {
    return state == HANDED_OVER;
  }

  /**
   * Whether the current thread has handed the command over, or does so at the end of this turn, so
   * that it is the connection's event loop.
   */
  public boolean isHandedOverHere() {
    int now = state;
    return (now == HANDED_OVER || now == COLLECTED) && thread == Thread.currentThread();
  }

  /** The promise of a command that was {@linkplain #collect collected}. */
  ChannelPromise promise() {
    return Objects.requireNonNull(promise);
  }

  /** The command is sent together with others, as one. On the event loop. */
  void share() {
    shared = true;
    promise().trySuccess();
  }

  /** Whether it was sent together with others, as one command. On the event loop. */
  public boolean isShared() {
    return shared;
  }

  /** Sets the party that waits for the reply. */
  public void awaitedBy(Waiter waits) {
    waiter = waits;
  }

  /** Time that Redis has had for the reply; none before the handover. On the event loop. */
  public long spentNanos() {
    UnansweredCommands handedTo = loop;
    return state == HANDED_OVER && handedTo != null ? handedTo.ownNanos() - loopNanos : 0;
  }

  /**
   * Time since the handover for which the event loop did not run, as far as other threads can see
   * it.
   */
  public long standstillNanos(long nowNanos) {
    UnansweredCommands handedTo = loop;
    return state == HANDED_OVER && handedTo != null
        ? Math.max(0, nowNanos - handedOverNanos - (handedTo.countedNanos() - loopNanos))
        : 0;
  }

  /** The party that waits for the reply; null until it is set. */
  @Nullable Waiter waiter() {
    return waiter;
  }

  /** Whether the wait has ended. */
  boolean isExpired() {
    return expired || isDone();
  }

  /**
   * Whether the wait is over. Returns true only at the second check: in between the event loop
   * reads once more, since the reply may be in the socket.
   */
  boolean isOver(Waiter waits, long nowNanos, long ownNanos) {
    boolean over =
        ownNanos - loopNanos >= waits.budgetNanos() || nowNanos - waits.hardDueNanos() >= 0;
    if (over && overdue) {
      return true;
    }
    overdue = over;
    return false;
  }

  /** Whether the next check decides. */
  boolean isOverdue() {
    return overdue;
  }

  /** Ends the wait. The command stays in place for its reply. */
  void expire(Waiter waits, long nowNanos, long ownNanos) {
    expired = true;
    long had = ownNanos - loopNanos;
    if (had >= waits.budgetNanos()) {
      waits.redisIsLate();
    } else {
      waits.processIsLate(nowNanos - handedOverNanos - had);
    }
  }
}
