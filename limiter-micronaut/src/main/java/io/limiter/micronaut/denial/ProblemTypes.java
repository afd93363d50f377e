// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.annotation.Internal;
import java.util.Optional;

/** The problem types of a module's codes, for requests that are rejected without a verdict. */
@Internal
@FunctionalInterface
public interface ProblemTypes {

  /**
   * A problem type of RFC 9457.
   *
   * @param type a URI
   * @param title always in English
   */
  record Problem(String type, String title) {}

  /** The type of a code; empty if this module has none, so that it is about:blank. */
  Optional<Problem> of(String code);
}
