// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The handle to give back or settle what a decision took. It addresses the store that decided. The
 * units of the rules are settled or refunded, whichever comes first; the duplicate guard is
 * released or refunded, whichever comes first. Each happens at most once; a second attempt does
 * nothing. Units that have left their windows in the meantime are not given back, because they are
 * already free.
 *
 * <p>The stages complete with the number of units given back, or exceptionally with a {@link
 * StoreException}. Nothing is retried, so nothing is given back twice. If a command is lost, the
 * units expire: a concurrency permit at the end of its duration, any other unit with its window.
 */
public interface Reservation {

  /** A reservation of nothing, for denied calls and for {@link io.limiter.core.Mode#PEEK}. */
  Reservation NOTHING =
      new Reservation() {
        @Override
        public CompletionStage<Long> refund() {
          return CompletableFuture.completedFuture(0L);
        }

        @Override
        public CompletionStage<Long> release() {
          return CompletableFuture.completedFuture(0L);
        }

        @Override
        public CompletionStage<Long> hold(Duration time, boolean ended) {
          return CompletableFuture.completedFuture(0L);
        }

        @Override
        public CompletionStage<Long> settle(Completion completion) {
          return CompletableFuture.completedFuture(0L);
        }

        @Override
        public CompletionStage<Long> renewPermits() {
          return CompletableFuture.completedFuture(0L);
        }

        @Override
        public Optional<Duration> permitDuration() {
          return Optional.empty();
        }
      };

  /** Gives back all units, as if the call had never been made, and releases the duplicate guard. */
  CompletionStage<Long> refund();

  /**
   * Releases only the duplicate guard, so that the same submission may be made again. If it fails,
   * it may be repeated: the guard of a later submission stays.
   */
  CompletionStage<Long> release();

  /**
   * Keeps a duplicate guard that was {@linkplain io.limiter.core.rule.RuleStack#withClaim claimed}.
   * Completes with 0 if it is not there any more, since it was released, or its claim has ended. A
   * guard without a claim is there for its window; then this has no effect. May be repeated.
   *
   * @param time for how long from now on; if the call has ended, the rest of the window since it
   *     began: zero or less frees the guard at once
   * @param ended whether the call has ended. If not, a guard that is kept for longer stays so
   */
  default CompletionStage<Long> hold(Duration time, boolean ended) {
    return CompletableFuture.completedFuture(1L);
  }

  /**
   * Settles the call: reports its completion to the store. One command gives back the concurrency
   * permits of the call ({@link ConcurrencyLimitRule}), the units of stacks that do not count this
   * completion ({@link Counting}), and from the other stacks the difference if the actual cost is
   * below the reserved cost. If the actual cost is higher, the difference is recorded; no rule can
   * deny it. The duplicate guard is not affected.
   *
   * <p>Call it for every call, however it ended and whether or not any rule counts by outcome; it
   * sends no command if there is nothing to give back. If the completion's cost function throws,
   * the stage fails and the call is not settled.
   */
  CompletionStage<Long> settle(Completion completion);

  /**
   * Renews the concurrency permits of the call for their full duration, even if they had expired
   * and other calls have taken permits since. The code that runs the call renews them every third
   * of {@link #permitDuration()}. Does nothing once the reservation is settled or refunded; a
   * settlement requested during a renewal runs after it. A renewal requested during another one
   * returns the stage of the running one. Never blocks: one thread renews the permits of all calls.
   */
  CompletionStage<Long> renewPermits();

  /**
   * The shortest duration of the concurrency permits that the call holds while it runs; empty if it
   * holds none.
   */
  Optional<Duration> permitDuration();

  /**
   * The reservation of a request whose charges were decided by other rules. It translates between
   * them: a completion's cost function expects the charges of the original request.
   *
   * @param decided the reservation of the decided charges
   * @param asked the original request
   */
  record Replaced(Reservation decided, LimitRequest asked) implements Reservation {

    @Override
    public CompletionStage<Long> refund() {
      return decided.refund();
    }

    @Override
    public CompletionStage<Long> release() {
      return decided.release();
    }

    @Override
    public CompletionStage<Long> hold(Duration time, boolean ended) {
      return decided.hold(time, ended);
    }

    @Override
    public CompletionStage<Long> settle(Completion completion) {
      return decided.settle(completion.standingFor(this::original));
    }

    /** Finds the original charge; no two charges of a request have one key. */
    private Charge original(Charge replaced) {
      return asked.charges().stream()
          .filter(charge -> charge.key().equals(replaced.key()))
          .findFirst()
          .orElse(replaced);
    }

    @Override
    public CompletionStage<Long> renewPermits() {
      return decided.renewPermits();
    }

    @Override
    public Optional<Duration> permitDuration() {
      return decided.permitDuration();
    }
  }
}
