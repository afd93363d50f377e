// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.Verdict;

/** A rule refused the call, or the caller is banned because rules refused too often. */
public sealed class RateLimitExceededException extends LimitDeniedException
    permits CallerBannedException {

  private static final long serialVersionUID = 1L;

  RateLimitExceededException(Verdict verdict, DenialText text) {
    super(verdict, text);
  }

  /** Made when it is asked for: over HTTP nobody does. */
  @Override
  public String getMessage() {
    return "The limit of '%s' is exceeded: %s"
        .formatted(
            verdict().policy().name(),
            verdict().violated().stream().map(rule -> rule.rule().name()).toList());
  }
}
