// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.core.annotation.Internal;
import java.util.Set;

/**
 * After which outcomes a submission may be made again at once. One whose method was never entered
 * may be, whatever this says: see {@code AdmittedCall}.
 */
@Internal
public sealed interface GuardRelease {

  /** The status that an exception counts as where no answer has one. */
  int FAILURE = 500;

  /** After none. */
  record Never() implements GuardRelease {}

  /** After an exception of the method, and after a status of 500 and above. */
  record OnFailure() implements GuardRelease {}

  /**
   * After answers of these statuses. Outside of HTTP an exception counts as {@value #FAILURE}.
   *
   * @param statuses 400 to 599
   */
  record OnStatus(Set<Integer> statuses) implements GuardRelease {}

  /**
   * Whether a call that ended so releases its submission.
   *
   * @param status of its answer; outside of HTTP, what an exception counts as
   * @param threw whether its method threw, whatever answer that was given
   */
  default boolean after(int status, boolean threw) {
    return this instanceof OnStatus list
        ? list.statuses().contains(status)
        : this instanceof OnFailure && (threw || status >= FAILURE);
  }
}
