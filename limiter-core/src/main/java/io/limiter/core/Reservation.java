// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.ConcurrencyLimit;
import io.limiter.core.rule.Counting;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * What a decision took, and the way to give it back to the very store that it was taken from. The
 * units of the rules are settled or refunded, whichever comes first, and once; the duplicate guard
 * is released or refunded, once. What is done a second time does nothing. Units that have left
 * their windows meanwhile are not given back: they are free already.
 *
 * <p>The stages complete with the number of units found, or exceptionally with a {@link
 * StoreException}. Nothing is ever retried, so that nothing is given back twice: what is lost ends
 * by itself, a lease within its time, any other unit with its window.
 */
public interface Reservation {

  /** A reservation for nothing: the call was refused, or only looked. */
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
        public CompletionStage<Long> settle(Completion ending) {
          return CompletableFuture.completedFuture(0L);
        }

        @Override
        public CompletionStage<Long> renew() {
          return CompletableFuture.completedFuture(0L);
        }

        @Override
        public Optional<Duration> lease() {
          return Optional.empty();
        }
      };

  /** Gives back all units, as if the call had never been made, and releases the duplicate guard. */
  CompletionStage<Long> refund();

  /** Releases the duplicate guard only, so that the same submission may be made again. */
  CompletionStage<Long> release();

  /**
   * Tells how the call ended. Gives back, in one command, what it held while it ran ({@link
   * ConcurrencyLimit}), the units of stacks that do not count this ending ({@link Counting}), and
   * of the others what it has cost less than was reserved. What it has cost more is recorded, which
   * no rule can refuse. The duplicate guard is not touched.
   *
   * <p>To be called when the call has ended in whatever way, also if nothing is counted by outcome:
   * it costs nothing where there is nothing to give back. Should the ending's own code fail that
   * tells the costs, the stage does, and the call is not settled.
   */
  CompletionStage<Long> settle(Completion ending);

  /**
   * Takes what {@link #lease()} is about anew for the whole of its lease, whoever else may have
   * taken the place if it had lapsed. Whoever runs the call does so each third of the lease. Does
   * nothing once the reservation is settled or refunded; what is settled while a renewal is under
   * way is settled after it. A renewal that is asked for while another is under way is that one.
   * Never blocks: one thread renews the leases of all calls.
   */
  CompletionStage<Long> renew();

  /** The shortest lease of what the call holds while it runs; empty if it holds nothing. */
  Optional<Duration> lease();
}
