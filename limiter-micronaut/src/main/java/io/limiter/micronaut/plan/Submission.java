// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.exception.InvalidCallException.InvalidIdempotencyKeyException;
import io.limiter.micronaut.subject.CallExpression;
import io.limiter.micronaut.subject.IdempotencyKey;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.List;
import java.util.Optional;

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
   * @param required whether a request without one is rejected; else it duplicates none
   */
  record ByIdempotencyKey(boolean required) implements Submission {}

  /** Whether the arguments of the method are compared. */
  default boolean needsArguments() {
    return this instanceof ByArguments || this instanceof ByExpression;
  }

  /**
   * The content by which this request is compared with others; empty if it duplicates none.
   *
   * @throws InvalidIdempotencyKeyException if it has no usable key, where it needs one
   * @throws IllegalArgumentException if only the arguments of the method are compared
   */
  default Optional<String> ofRequest(HttpRequest<?> request) {
    if (this instanceof ByCaller) {
      return Optional.of("");
    }
    if (this instanceof ByIdempotencyKey byKey) {
      Optional<String> key = IdempotencyKey.of(request);
      if (key.isEmpty() && byKey.required()) {
        throw InvalidIdempotencyKeyException.missing();
      }
      return key;
    }
    throw new IllegalArgumentException("A request has no content for " + this);
  }
}
