// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.subject.CallExpression;
import io.micronaut.core.annotation.Internal;
import java.util.List;

/** What makes two submissions of one caller to one method the same. */
@Internal
public sealed interface Submission {

  /** They come from the same caller. */
  record ByCaller() implements Submission {}

  /**
   * Their arguments are equal as JSON.
   *
   * @param positions which of the method's arguments, from 0
   */
  record ByArguments(List<Integer> positions) implements Submission {}

  /** An expression over their arguments has the same value. */
  record ByExpression(CallExpression expression) implements Submission {}

  /**
   * They have the same {@code Idempotency-Key} header.
   *
   * @param required whether a request without one is refused; else it is no duplicate of anything
   */
  record ByIdempotencyKey(boolean required) implements Submission {}

  /** Whether only a call of the method tells, with its arguments. */
  default boolean needsArguments() {
    return this instanceof ByArguments || this instanceof ByExpression;
  }
}
