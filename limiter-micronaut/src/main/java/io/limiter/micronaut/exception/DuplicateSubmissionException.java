// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.Verdict;

/** The same submission was accepted a moment ago. */
public final class DuplicateSubmissionException extends LimitDeniedException {

  private static final long serialVersionUID = 1L;

  DuplicateSubmissionException(Verdict verdict, DenialText text) {
    super(verdict, text);
  }

  /** Made when it is asked for: over HTTP nobody does. */
  @Override
  public String getMessage() {
    return "The submission to '%s' was accepted before".formatted(verdict().policy().name());
  }
}
