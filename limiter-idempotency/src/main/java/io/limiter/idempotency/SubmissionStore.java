// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * Keeps one value for each submission: its claim, its answer, or that it is done. {@link Entry} has
 * what each command does.
 *
 * <p>Implementations are thread-safe. No method blocks or throws. If the store does not answer, the
 * stage fails with a {@link StoreException}; the command may have run, may never run, or may run
 * later. Every value has a time to live, from a millisecond to 366 days.
 */
interface SubmissionStore {

  /** Claims a key for a time, unless it is taken. */
  CompletionStage<Found> claim(Claim claim, Duration time);

  /** What a claim would find, without any change; {@link Found.Kind#ABSENT} if the key is free. */
  CompletionStage<Found> look(Claim claim);

  /** Extends a claim, which then lives for this time from now on. False if it is lost. */
  CompletionStage<Boolean> renew(Claim claim, Duration time);

  /**
   * Replaces a claim by its end.
   *
   * @param time how long repetitions are kept from running; nothing for a release
   */
  CompletionStage<Entry.Kept> end(Claim claim, End end, Duration time);

  /** Removes a value, whichever claim has made it. */
  CompletionStage<Void> forget(StateKey key);
}
