// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.Verdict;

/** An equal submission was accepted recently. */
public final class DuplicateSubmissionException extends LimitDeniedException {

  private static final long serialVersionUID = 1L;

  DuplicateSubmissionException(Verdict verdict, DenialText text) {
    super(verdict, text);
  }

  /** The message is built on demand: over HTTP it is not used. */
  @Override
  public String getMessage() {
    return "The submission to '%s' was accepted before".formatted(verdict().policy().name());
  }
}
