// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.Verdict;
import java.time.Duration;

/**
 * The subject is banned, because rules denied its calls too often. Code that handles a {@link
 * RateLimitExceededException} handles this one, too.
 */
public final class CallerBannedException extends RateLimitExceededException {

  private static final long serialVersionUID = 1L;

  CallerBannedException(Verdict verdict, DenialText text) {
    super(verdict, text);
  }

  /** The remaining time of the ban; the wait for a rule may be even longer. */
  public Duration ban() {
    return verdict().ban().orElse(Duration.ZERO);
  }

  /** The message is built on demand: over HTTP it is not used. */
  @Override
  public String getMessage() {
    return "The subject is banned for another %s, since the limit of '%s' has denied it too often"
        .formatted(ban(), verdict().policy().name());
  }
}
