// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.Outcome;
import io.limiter.core.Verdict;
import java.util.Optional;

/**
 * A limited method was not entered. Over HTTP it becomes an error response; elsewhere the caller of
 * the method gets it. It has no stack trace: denials are many, and say nothing about the code.
 */
public sealed class LimitDeniedException extends RuntimeException
    permits RateLimitExceededException, DuplicateSubmissionException {

  private static final long serialVersionUID = 1L;

  private final transient Verdict verdict;
  private final transient Optional<String> customMessage;

  LimitDeniedException(Verdict verdict, Optional<String> customMessage) {
    super(null, null, false, false);
    this.verdict = verdict;
    this.customMessage = customMessage;
  }

  /**
   * The exception for a verdict that is not allowed.
   *
   * @param customMessage what the annotation says the caller is to be told
   */
  public static LimitDeniedException of(Verdict verdict, Optional<String> customMessage) {
    return verdict.outcome() == Outcome.DUPLICATE
        ? new DuplicateSubmissionException(verdict, customMessage)
        : new RateLimitExceededException(verdict, customMessage);
  }

  /** Why. */
  public Verdict verdict() {
    return verdict;
  }

  /** What the annotation says the caller is to be told. */
  public Optional<String> customMessage() {
    return customMessage;
  }
}
