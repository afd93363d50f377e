// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One run of a script within a deadline. It is sent again only if Redis did not know the script, or
 * sends it to another node, which prove that nothing ran. When the deadline passes, the command
 * itself is ended: a future derived from it would leave it alive, to be executed whenever the
 * connection comes back.
 */
final class ScriptCall<T> extends CompletableFuture<@Nullable T> implements TimerTask {

  /** A timer that fires so late has stood still with the whole process, as in a long pause. */
  private static final long LATE_NANOS = 20_000_000;

  /** Time to read what came in during the pause. */
  private static final long GRACE_MILLIS = 10;

  /**
   * A deadline that is noticed later than this tells of such a pause, and nothing of Redis. Above
   * what a busy machine is late by: there a Redis that is silent has to be noticed too.
   */
  private static final long PAUSE_NANOS = 100_000_000;

  /** The most nodes that a call is sent on to, one after another. */
  private static final int MAX_HOPS = 5;

  private final Detours detours;
  private volatile Hop hop;
  private final LongSupplier nanoTime;
  private final RedisScript script;
  private final ScriptOutputType output;
  private final byte[][] keys;
  private final byte[][] arguments;
  private final Duration deadline;
  private volatile @Nullable RedisFuture<T> command;
  private volatile @Nullable Timeout timeout;
  private int hops;
  private boolean sentWhole;
  private long due;
  private boolean graced;

  ScriptCall(
      Hop first,
      Detours detours,
      LongSupplier nanoTime,
      RedisScript script,
      ScriptOutputType output,
      byte[][] keys,
      byte[][] arguments,
      Duration deadline) {
    this.hop = first;
    this.detours = detours;
    this.nanoTime = nanoTime;
    this.script = script;
    this.output = output;
    this.keys = keys;
    this.arguments = arguments;
    this.deadline = deadline;
  }

  ScriptCall<T> start(Timer timer) {
    try {
      due = nanoTime.getAsLong() + deadline.toNanos();
      timeout = timer.newTimeout(this, deadline.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RuntimeException refused) {
      fail(refused);
      return this;
    }
    send();
    return this;
  }

  private void send() {
    try {
      follow(hop.commands().evalsha(script.sha(), output, keys, arguments));
    } catch (RuntimeException refused) {
      fail(refused);
    }
  }

  private void follow(RedisFuture<T> sent) {
    command = sent;
    sent.whenComplete(this::answered);
    if (isDone()) { // the deadline passed before the command was known here
      endCommand();
    }
  }

  private void answered(@Nullable T reply, @Nullable Throwable failure) {
    if (failure == null) {
      stopTimer();
      if (!isDone()) {
        hop.period().answered();
        complete(reply);
      }
    } else if (failure instanceof RedisNoScriptException && !sentWhole && !isDone()) {
      sentWhole = true;
      try {
        follow(hop.commands().eval(script.text(), output, keys, arguments));
      } catch (RuntimeException refused) {
        fail(refused);
      }
    } else if (isDone() || !goesOn(failure)) {
      fail(failure);
    }
  }

  /** Whether the answer sends the call elsewhere; then it is on its way, or has failed. */
  private boolean goesOn(Throwable failure) {
    CompletionStage<Hop> next =
        hops < MAX_HOPS ? detours.after(RedisFailures.unwrap(failure)) : null;
    if (next == null) {
      return false;
    }
    hops++;
    hop.period().answered();
    hop = new Hop(Breaker.UNCONCERNED, hop.demoted(), hop.commands());
    next.whenComplete(
        (found, refused) -> {
          if (refused != null) {
            fail(refused);
          } else if (isDone()) { // the deadline has passed
            found.period().undecided();
          } else {
            hop = found;
            sentWhole = false;
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
      StoreException failed = RedisFailures.translate(cause);
      switch (RedisFailures.blame(cause)) {
        case NODE -> hop.period().failed(failed);
        case CALL -> hop.period().answered();
        case NOBODY -> hop.period().undecided();
      }
      completeExceptionally(failed);
    }
  }

  @Override
  public void run(Timeout expired) {
    if (!graced && nanoTime.getAsLong() - due > LATE_NANOS) {
      graced =
          true; // an answer that is in the socket already wins over a timer that is merely late
      timeout = expired.timer().newTimeout(this, GRACE_MILLIS, TimeUnit.MILLISECONDS);
      if (isDone()) {
        stopTimer();
      }
      return;
    }
    if (!isDone()) {
      StoreException late =
          new StoreException(
              FailureReason.TIMEOUT,
              "Redis did not answer within " + deadline.toMillis() + " ms",
              null);
      if (nanoTime.getAsLong() - due < PAUSE_NANOS) {
        hop.period().failed(late);
      } else {
        hop.period().undecided();
      }
      completeExceptionally(late);
    }
    endCommand();
  }

  private void endCommand() {
    RedisFuture<T> sent = command;
    if (sent != null) {
      sent.cancel(false);
    }
  }

  private void stopTimer() {
    Timeout pending = timeout;
    if (pending != null) {
      pending.cancel();
    }
  }
}
