// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.http.MutableHttpResponse;

/**
 * Writes the body of a denial's response. Status and header fields are already set. Declare a bean
 * of this type to use your own format; {@code limiter.denial.body} then has no effect. If it throws
 * or returns null, or its body cannot be encoded, the response is sent without a body.
 */
@FunctionalInterface
public interface DenialBody {

  /** Sets a body and a content type on the response. */
  MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response);
}
