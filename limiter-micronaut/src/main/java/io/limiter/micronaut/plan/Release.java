// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import java.util.Set;

/** After which failures a submission may be made again at once. */
sealed interface Release {

  /** The status that an exception becomes, unless somebody makes another of it. */
  int FAILURE = 500;

  /** After none. */
  record Never() implements Release {}

  /** After an exception of the method, and after a status of 500 and above. */
  record OnFailure() implements Release {}

  /**
   * After answers of these statuses. Outside of HTTP an exception counts as {@value #FAILURE}.
   *
   * @param statuses 400 to 599
   */
  record OnStatus(Set<Integer> statuses) implements Release {}

  /**
   * Whether an answer of this status releases.
   *
   * @param settled whether the guard has seen to an exception of the method, or to its absence
   */
  default boolean after(int status, boolean settled) {
    return this instanceof OnStatus list
        ? list.statuses().contains(status)
        : this instanceof OnFailure && (!settled || status >= FAILURE);
  }

  /**
   * Whether an exception of the method releases.
   *
   * @param answered whether an answer follows, whose status tells more
   */
  default boolean afterException(boolean answered) {
    return this instanceof OnStatus list
        ? !answered && list.statuses().contains(FAILURE)
        : this instanceof OnFailure;
  }
}
