// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.Breaker;
import io.limiter.core.redis.connection.CallTarget;
import io.limiter.core.redis.connection.RedisFailures;
import io.limiter.core.redis.connection.TimedCommand;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.redis.wire.EncodedCall;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One run of a script within the time of its decision. It is sent again only if Redis replied that
 * it does not have the script, or redirected it to another node; both prove that nothing ran.
 *
 * <p>The deadline measures Redis, by the time of the connection's event loop ({@link
 * TimedCommand}). The hard deadline measures this process. If the calling thread is that event loop
 * itself, the loop checks both: while it stands still, nothing could continue with a reply anyway.
 * Otherwise a timer on another thread checks the hard deadline. A command that was handed to
 * Lettuce's pipeline stays there when its time is over, and its reply is late; a command that was
 * not is withdrawn and never runs.
 */
final class ScriptCall<T> extends CompletableFuture<@Nullable T>
    implements TimerTask, TimedCommand.Waiter {

  /** The most redirects of one call. */
  private static final int MAX_HOPS = 5;

  private final CallTarget.Redirects detours;
  private final LongSupplier nanoTime;
  private final RedisScript script;
  private final ScriptOutputType output;
  private final byte[][] keys;
  private final byte[][] arguments;
  private final DecisionTime time;
  private final Timer timer;
  private final Consumer<@Nullable T> late;

  /** The arguments of a decision that may share a command with others. */
  private @Nullable EncodedCall decision;

  private volatile CallTarget hop;
  private volatile @Nullable RedisFuture<T> command;
  private volatile @Nullable Timeout timeout;

  /**
   * Whether the timer measures Redis' deadline: between two nodes, and where the connection does
   * not time the command.
   */
  private volatile boolean timesRedis;

  private volatile long budgetNanos;
  private int hops;
  private boolean sentAsText;

  /**
   * @param timer a timer whose thread is no event loop
   * @param late receives a reply that arrives after the call has failed, on the event loop
   */
  ScriptCall(
      CallTarget first,
      CallTarget.Redirects detours,
      LongSupplier nanoTime,
      RedisScript script,
      ScriptOutputType output,
      byte[][] keys,
      byte[][] arguments,
      DecisionTime time,
      Timer timer,
      Consumer<@Nullable T> late) {
    this.hop = first;
    this.detours = detours;
    this.nanoTime = nanoTime;
    this.script = script;
    this.output = output;
    this.keys = keys;
    this.arguments = arguments;
    this.time = time;
    this.timer = timer;
    this.late = late;
  }

  /** The script is a decision that may share a command with others; before the start. */
  void mayShare(EncodedCall arguments) {
    decision = arguments;
  }

  ScriptCall<T> start() {
    send();
    return this;
  }

  private void send() {
    try {
      follow(evalsha(hop.commands()));
    } catch (RuntimeException failure) {
      fail(failure);
    }
  }

  @SuppressWarnings("unchecked") // a decision returns bytes
  private RedisFuture<T> evalsha(RedisClusterAsyncCommands<byte[], byte[]> commands) {
    RedisFuture<byte[]> shared = decision == null ? null : TimedCommand.send(decision, commands);
    return shared != null
        ? (RedisFuture<T>) shared
        : commands.evalsha(script.sha(), output, keys, arguments);
  }

  private void follow(RedisFuture<T> sent) {
    command = sent;
    budgetNanos = time.leftNanos();
    if (sent instanceof TimedCommand<?, ?, ?> timed) {
      timed.awaitedBy(this);
      if (!timed.isHandedOverHere()) {
        startTimer(false, time.hardDueNanos() - nanoTime.getAsLong());
      }
    } else { // a connection opened by the application
      startTimer(true, time.leftNanos());
    }
    sent.whenComplete(this::answered);
    if (isDone() && !(sent instanceof TimedCommand<?, ?, ?> timed && !timed.withdraw())) {
      sent.cancel(false); // the time was over before the command was stored here
    }
  }

  private void startTimer(boolean ofRedis, long delayNanos) {
    Timeout running = timeout;
    if (running != null && timesRedis == ofRedis) {
      return;
    }
    stopTimer();
    timesRedis = ofRedis;
    try {
      timeout = timer.newTimeout(this, Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
    } catch (RuntimeException closed) {
      fail(closed);
    }
    if (isDone()) {
      stopTimer();
    }
  }

  private void answered(@Nullable T reply, @Nullable Throwable failure) {
    if (failure == null) {
      if (isDone()) {
        late.accept(reply);
      } else {
        stopTimer();
        spend();
        hop.period().answered();
        if (!complete(reply)) { // the time was over just now
          late.accept(reply);
        }
      }
    } else if (failure instanceof RedisNoScriptException && !sentAsText && !isDone()) {
      sentAsText = true;
      spend();
      try {
        follow(hop.commands().eval(script.text(), output, keys, arguments));
      } catch (RuntimeException notSent) {
        fail(notSent);
      }
    } else if (!isDone() && isOfOthersToo(failure)) {
      decision = null; // alone from now on: another key of the command may be the reason
      spend();
      send();
    } else if (isDone() || !redirected(failure)) {
      fail(failure);
    }
  }

  /**
   * Whether a part of the keys of a command that the call shares are on their way to another node,
   * so that nothing ran. That is another answer than the call alone would get: Redis 6 sends a
   * whole command after one missing key (ASK), and the key of this call may still be here.
   */
  private boolean isOfOthersToo(Throwable failure) {
    return RedisFailures.isOfMovingSlot(RedisFailures.unwrap(failure))
        && command instanceof TimedCommand<?, ?, ?> timed
        && timed.isShared();
  }

  /**
   * Subtracts the time of this command from that of the following ones. Runs on the event loop that
   * has read a reply.
   */
  private void spend() {
    if (command instanceof TimedCommand<?, ?, ?> timed) {
      time.spend(timed.spentNanos());
    }
  }

  /** Whether the reply redirects the call; then it is on its way, or has failed. */
  private boolean redirected(Throwable failure) {
    CompletionStage<CallTarget> next =
        hops < MAX_HOPS ? detours.after(RedisFailures.unwrap(failure)) : null;
    if (next == null) {
      return false;
    }
    hops++;
    spend();
    hop.period().answered();
    hop = new CallTarget(hop.node(), Breaker.UNCONCERNED, hop.demoted(), hop.commands());
    long from = nanoTime.getAsLong();
    startTimer(true, time.leftNanos()); // finding the node takes time of its own
    next.whenComplete(
        (found, lookupFailure) -> {
          if (lookupFailure != null) {
            fail(lookupFailure);
          } else if (isDone()) { // the deadline has passed
            found.period().undecided();
          } else {
            time.spend(nanoTime.getAsLong() - from);
            stopTimer();
            hop = found;
            sentAsText = false;
            send();
          }
        });
    return true;
  }

  private void fail(Throwable failure) {
    stopTimer();
    Throwable cause = RedisFailures.unwrap(failure);
    if (RedisFailures.isDemotion(cause)) {
      hop.demoted().run();
    }
    if (!isDone()) {
      StoreException failed = RedisFailures.translate(cause, hop.node());
      switch (RedisFailures.blame(cause)) {
        case NODE -> hop.period().failed(failed);
        case CALL -> hop.period().answered();
        case NEITHER -> {
          if (failed.reason() == FailureReason.DISCONNECTED) {
            hop.period().unconnected(failed);
          } else {
            hop.period().undecided();
          }
        }
      }
      completeExceptionally(failed);
    }
  }

  @Override
  public long budgetNanos() {
    return budgetNanos;
  }

  @Override
  public long hardDueNanos() {
    return time.hardDueNanos();
  }

  @Override
  public void redisIsLate() {
    stopTimer();
    if (!isDone()) {
      StoreException timedOut =
          new StoreException(
              FailureReason.TIMEOUT,
              hop.node() + " did not answer within " + time.deadline().toMillis() + " ms",
              null);
      hop.period().failed(timedOut);
      completeExceptionally(timedOut);
    }
  }

  @Override
  public void processIsLate(long standstillNanos) {
    stopTimer();
    if (!isDone()) {
      hop.period().undecided();
      completeExceptionally(
          new StoreException(
              FailureReason.PROCESS_LATE,
              "The event loop of the connection to %s did not run for %d of %d ms"
                  .formatted(
                      hop.node(),
                      TimeUnit.NANOSECONDS.toMillis(standstillNanos),
                      time.hardDeadline().toMillis()),
              null));
    }
  }

  /** The time is over; runs on another thread than the connection's. */
  @Override
  public void run(Timeout expired) {
    timeout = null;
    boolean sent = command instanceof TimedCommand<?, ?, ?> timed && !timed.withdraw();
    if (timesRedis) {
      redisIsLate();
    } else {
      processIsLate(standstillNanos());
    }
    if (!sent) {
      cancelCommand();
    }
  }

  private long standstillNanos() {
    return command instanceof TimedCommand<?, ?, ?> timed && timed.isHandedOver()
        ? timed.standstillNanos(nanoTime.getAsLong())
        : time.hardDeadline().toNanos();
  }

  private void cancelCommand() {
    RedisFuture<T> sent = command;
    if (sent != null) {
      sent.cancel(false);
    }
  }

  private void stopTimer() {
    Timeout pending = timeout;
    if (pending != null) {
      timeout = null;
      pending.cancel();
    }
  }
}
