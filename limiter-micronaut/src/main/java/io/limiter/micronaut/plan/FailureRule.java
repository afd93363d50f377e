// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.core.annotation.Internal;
import java.util.Optional;
import java.util.Set;

/**
 * Which calls have failed.
 *
 * @param statuses those that are failures, 400 to 599; empty if any exception is one, and any
 *     status of 400 and above
 */
@Internal
public record FailureRule(Optional<Set<Integer>> statuses) {

  /** Unless an annotation lists statuses. */
  public static final FailureRule USUAL = new FailureRule(Optional.empty());

  private static final int FIRST = 400;

  /**
   * Whether a call has failed.
   *
   * @param status of its answer; outside of HTTP, what an exception counts as
   * @param threw whether its method threw, whatever somebody has made of that
   */
  boolean of(int status, boolean threw) {
    return statuses.map(some -> some.contains(status)).orElse(threw || status >= FIRST);
  }
}
