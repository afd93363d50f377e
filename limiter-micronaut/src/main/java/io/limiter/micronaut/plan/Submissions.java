// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.exception.InvalidIdempotencyKeyException;
import io.limiter.micronaut.subject.IdempotencyKey;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.Optional;

/** Tells submissions of one caller to one method apart by their requests. */
@Internal
public final class Submissions {

  private Submissions() {}

  /**
   * What tells this request from other submissions; empty if it is no duplicate of anything.
   *
   * @throws InvalidIdempotencyKeyException if it has no usable key, where it needs one
   * @throws IllegalArgumentException if only the method's arguments tell
   */
  public static Optional<String> byRequest(Submission submission, HttpRequest<?> request) {
    if (submission instanceof Submission.ByCaller) {
      return Optional.of("");
    }
    if (submission instanceof Submission.ByIdempotencyKey byKey) {
      Optional<String> key = IdempotencyKey.of(request);
      if (key.isEmpty() && byKey.required()) {
        throw InvalidIdempotencyKeyException.missing();
      }
      return key;
    }
    throw new IllegalArgumentException("A request does not tell " + submission);
  }
}
