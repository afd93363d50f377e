// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.http.MutableHttpResponse;

/**
 * Writes the body of a refusal. Status and header fields are set already. Declare a bean of this
 * type to answer in a form of your own; then {@code limiter.denial.body} does not count. If it
 * throws, or gives null, the refusal goes out without a body.
 */
@FunctionalInterface
public interface DenialBody {

  /** Gives the response a body and a content type. */
  MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response);
}
