// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Decides calls and keeps the state of subjects. Every store gives the following guarantees; one
 * test suite checks them for each store.
 *
 * <ul>
 *   <li>All or nothing: a denied call takes nothing under any key, creates no key and extends the
 *       life of none.
 *   <li>A decision is atomic under concurrency and runs at most once: it is repeated only if it is
 *       certain that it has not run.
 *   <li>Nothing is kept longer than the longest window requires. The number of subjects is bounded
 *       by the store's configuration or, where keys expire, by the number of calls within the
 *       longest window.
 *   <li>No method blocks or throws: a failure completes the stage with a {@link StoreException},
 *       within the store's deadline.
 *   <li>Stages complete on a thread of the store. A caller that continues with application code
 *       must switch to a thread of its own first.
 * </ul>
 */
public interface LimitStore extends AutoCloseable {

  /** Decides a call. */
  CompletionStage<Verdict> decide(LimitRequest request, Mode mode);

  /**
   * Replaces what this store has counted under the key of a charge with what is known from
   * elsewhere. For stores that decide in place of another one; other stores need not implement it.
   * Must not block.
   */
  default void adopt(Charge charge, SeenUse known) {}

  /**
   * Takes units of one subject in advance, to be spent within a time without asking this store. The
   * default implementation grants none, so that each call is decided by itself.
   *
   * @param units one charge, whose cost is the number of units. All of them are taken or none
   * @param time within which they may be spent
   */
  default CompletionStage<Grant> lease(LimitRequest units, Duration time) {
    return CompletableFuture.completedFuture(Grant.NONE);
  }

  /** Forgets everything that was counted under these keys. */
  CompletionStage<Void> reset(Collection<StateKey> keys);

  /**
   * Lifts the bans of the subjects of these keys, and keeps everything that was counted. The
   * denials that caused a ban are forgotten too, so the next ban is as long as a first one. Keys
   * without a ban are ignored. The default implementation fails.
   */
  default CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    return CompletableFuture.failedFuture(
        new StoreException(
            FailureReason.ERROR,
            "%s cannot lift bans: implement LimitStore.liftBans, or reset the subject"
                .formatted(getClass().getName()),
            null));
  }

  /** Frees the store's resources. Later decisions fail. */
  @Override
  void close();

  /**
   * Units that may be spent without asking the store.
   *
   * @param verdict of the store on all of them together; if it denies them, there are none
   * @param micros the time within which they may be spent, from when the store was asked: not
   *     longer than the lease, and not beyond a window that counts them
   * @param giveBack gives back some units that were not spent; completes with how many of them the
   *     store still counted
   */
  record Grant(
      @Nullable Verdict verdict, long micros, IntFunction<CompletionStage<Long>> giveBack) {

    /** No units. */
    public static final Grant NONE =
        new Grant(null, 0, units -> CompletableFuture.completedFuture(0L));

    /** Whether there are units to spend. */
    public boolean isGranted() {
      return verdict != null && verdict.allowed() && micros > 0;
    }
  }

  /**
   * What an instance knows about the use of one charge's rules. A store that decides in place of
   * another one starts from it; for authors of stores.
   *
   * @param ageMicros time since the verdict of the other store
   * @param rules the content of that verdict for each rule of the charge's stack, in their order;
   *     empty if there was none
   * @param bannedMicros the remaining time of the subject's ban in that verdict; zero if it was not
   *     banned
   * @param since units taken since then, oldest first
   */
  record SeenUse(long ageMicros, List<RuleUse> rules, long bannedMicros, List<PastUnits> since) {

    public SeenUse {
      rules = List.copyOf(rules);
      since = List.copyOf(since);
    }

    /**
     * The content of a verdict about one rule.
     *
     * @param remaining units that were left
     * @param returning the units that were to come back first
     * @param returnsAfterMicros the time until they come back
     * @param resetsAfterMicros the time until the rule is fully replenished
     */
    public record RuleUse(
        long remaining, long returning, long returnsAfterMicros, long resetsAfterMicros) {}

    /**
     * Units that were taken together.
     *
     * @param ageMicros time since they were taken
     * @param units the number of units
     */
    public record PastUnits(long ageMicros, long units) {}

    /** Returns this knowledge with other values for the rules. */
    public SeenUse withRules(List<RuleUse> other) {
      return new SeenUse(ageMicros, other, bannedMicros, since);
    }
  }
}
