// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Verdict;
import io.micronaut.http.MutableHttpHeaders;

/**
 * A format of the header fields that state the limits of a call. {@code limiter.headers.format}
 * selects those of the limiter; a bean of this type writes fields of the application in addition:
 *
 * <pre>{@code
 * @Singleton
 * class QuotaField implements RateLimitFormat {
 *   @Override
 *   public void write(Verdict verdict, MutableHttpHeaders headers, boolean deniedBehind) {
 *     verdict.rules().forEach(rule -> headers.add("X-Quota", rule.remaining() + " left"));
 *   }
 * }
 * }</pre>
 */
public interface RateLimitFormat {

  /**
   * Writes the fields into a response. Runs on an event loop, so it must not block.
   *
   * @param verdict on a call with one rule at least, admitted or denied
   * @param headers of the response, which may have such fields of another service behind this one
   * @param deniedBehind whether this service has admitted the call, and one behind it has denied it
   */
  void write(Verdict verdict, MutableHttpHeaders headers, boolean deniedBehind);
}
