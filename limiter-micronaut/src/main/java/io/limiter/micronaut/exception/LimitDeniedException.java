// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.Verdict;

/**
 * A limited method was not entered. Over HTTP it is turned into an error response; elsewhere the
 * caller of the method receives it. It has no stack trace: denials are frequent, and do not
 * indicate a fault in the code.
 */
public sealed class LimitDeniedException extends RuntimeException
    permits RateLimitExceededException, DuplicateSubmissionException, LimiterUnavailableException {

  private static final long serialVersionUID = 1L;

  private final transient Verdict verdict;
  private final transient DenialText text;

  LimitDeniedException(Verdict verdict, DenialText text) {
    super(null, null, false, false);
    this.verdict = verdict;
    this.text = text;
  }

  /**
   * The exception for a verdict that is not allowed.
   *
   * @param text the parts of the response that the annotation defines
   */
  public static LimitDeniedException of(Verdict verdict, DenialText text) {
    return switch (verdict.outcome()) {
      case LIMITED -> new RateLimitExceededException(verdict, text);
      case BANNED -> new CallerBannedException(verdict, text);
      case DUPLICATE -> new DuplicateSubmissionException(verdict, text);
      case UNAVAILABLE -> new LimiterUnavailableException(verdict);
      case ALLOWED ->
          throw new IllegalArgumentException(
              "The policy '%s' allows the call: there is nothing to deny"
                  .formatted(verdict.policy().name()));
    };
  }

  /** The verdict that denied the call. */
  public Verdict verdict() {
    return verdict;
  }

  /** The parts of the response that the annotation defines. */
  public DenialText text() {
    return text;
  }
}
