// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.Verdict;

/** A rule denied the call, or the subject is banned because rules denied its calls too often. */
public sealed class RateLimitExceededException extends LimitDeniedException
    permits CallerBannedException {

  private static final long serialVersionUID = 1L;

  RateLimitExceededException(Verdict verdict, DenialText text) {
    super(verdict, text);
  }

  /** The message is built on demand: over HTTP it is not used. */
  @Override
  public String getMessage() {
    return "The limit of '%s' is exceeded: %s"
        .formatted(
            verdict().policy().name(),
            verdict().violated().stream().map(rule -> rule.rule().name()).toList());
  }
}
