// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.FailureReason;
import io.limiter.core.Verdict;

/**
 * The limit could not be checked: the store did not answer, and {@code limiter.fallback} is {@code
 * deny}.
 */
public final class LimiterUnavailableException extends LimitDeniedException {

  private static final long serialVersionUID = 1L;

  /** The annotation's text is for exceeded limits and is not used here. */
  LimiterUnavailableException(Verdict verdict) {
    super(verdict, DenialText.NONE);
  }

  /** The message is built on demand: over HTTP it is not used. */
  @Override
  public String getMessage() {
    return "The limit of '%s' cannot be checked, so the call is denied: the store does not answer (%s)"
        .formatted(
            verdict().policy().name(),
            verdict().reason().map(FailureReason::name).orElse("no reason given"));
  }
}
