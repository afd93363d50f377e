// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.Verdict;
import java.time.Duration;

/**
 * The caller is banned: his calls were refused by rules too often. Who treats him as any other who
 * is over his limit need not know.
 */
public final class CallerBannedException extends RateLimitExceededException {

  private static final long serialVersionUID = 1L;

  CallerBannedException(Verdict verdict, DenialText text) {
    super(verdict, text);
  }

  /** The rest of the ban; a rule may have to be waited for even longer. */
  public Duration ban() {
    return verdict().ban().orElse(Duration.ZERO);
  }

  /** Made when it is asked for: over HTTP nobody does. */
  @Override
  public String getMessage() {
    return "The caller is banned for another %s, since the limit of '%s' has refused him too often"
        .formatted(ban(), verdict().policy().name());
  }
}
