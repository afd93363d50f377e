// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.micronaut.core.annotation.Internal;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import reactor.core.publisher.Flux;

/**
 * One thing that an admitted call holds until it is over, such as its permits or its claim of a
 * submission. Its methods are called by any thread, and must not block or throw.
 */
@Internal
public interface CallState {

  /** The method begins; of a method without a guard, the request has passed the gate. */
  default void entered() {}

  /** The client has its response, or is gone, and the method still runs. */
  default void outlived() {}

  /** Whether the response must be written before the call is over. */
  default boolean lastsUntilWritten() {
    return false;
  }

  /** Whether the status of the response decides how it ends. */
  default boolean dependsOnStatus() {
    return false;
  }

  /** Whether each item of a stream is paid for before it is sent. */
  default boolean chargesItems() {
    return false;
  }

  /**
   * Observes or withholds the items of the stream that the method has returned, as the parts before
   * this one pass them on.
   */
  default Flux<Object> items(Flux<Object> items, Reader reader) {
    return items;
  }

  /**
   * What the call has cost by this, by the stacks as they are planned; empty if the result shows
   * the cost. Called once, as the call ends.
   */
  default Map<RuleStack, Integer> costs() {
    return Map.of();
  }

  /**
   * Gives it back, or keeps it, by the end of the call. Called once, after {@link #costs}.
   *
   * @return never fails
   */
  CompletionStage<?> over(End end);

  /**
   * How a call has ended.
   *
   * @param phase in which it was, which shows whether its method has begun, returned or thrown
   * @param status of the response that waited for the method; without one, as {@link
   *     #withoutResponse}
   */
  record End(LimitedCall.Phase phase, int status) {

    private static final int OK = 200;

    /** The end of a call in this phase, of which no response has the status. */
    static End of(LimitedCall.Phase phase) {
      return new End(phase, statusOf(phase));
    }

    private static int statusOf(LimitedCall.Phase phase) {
      return phase == LimitedCall.Phase.THREW ? DuplicateGuard.Release.FAILURE : OK;
    }

    /** The status where no response has one: an exception is a failure, and all else is none. */
    int withoutResponse() {
      return statusOf(phase);
    }

    boolean threw() {
      return phase == LimitedCall.Phase.THREW;
    }
  }

  /** Who reads a stream. */
  interface Reader {

    /** Completes on the reader's executor. */
    <T> CompletionStage<T> resume(CompletionStage<T> stage);

    /**
     * The stream is cut, since this verdict denies more. Returns the last item, if there is one.
     */
    Optional<Object> cut(Verdict denied);
  }
}
