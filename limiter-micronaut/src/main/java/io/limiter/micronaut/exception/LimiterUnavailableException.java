// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.FailureReason;
import io.limiter.core.Verdict;

/**
 * Whether the call is within its limits is not known: the store did not answer, and {@code
 * limiter.fallback} is {@code deny}.
 */
public final class LimiterUnavailableException extends LimitDeniedException {

  private static final long serialVersionUID = 1L;

  /** What the annotation says is about limits, and this is none: it is not used. */
  LimiterUnavailableException(Verdict verdict) {
    super(verdict, DenialText.NONE);
  }

  /** Made when it is asked for: over HTTP nobody does. */
  @Override
  public String getMessage() {
    return "The limit of '%s' cannot be checked, so the call is refused: the store does not answer (%s)"
        .formatted(
            verdict().policy().name(),
            verdict().reason().map(FailureReason::name).orElse("no reason given"));
  }
}
