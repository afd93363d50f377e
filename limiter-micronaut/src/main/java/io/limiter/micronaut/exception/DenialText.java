// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * What an annotation says that a refused caller is answered. What it leaves out, the configuration
 * says.
 *
 * @param status the status of the answer, 400 to 599
 * @param code what programs tell the refusal by
 * @param message what people are told: a text, or the key of a message in braces
 */
public record DenialText(OptionalInt status, Optional<String> code, Optional<String> message) {

  /** Nothing of its own. */
  public static final DenialText NONE =
      new DenialText(OptionalInt.empty(), Optional.empty(), Optional.empty());

  /** A message of its own, and nothing else. */
  public static DenialText message(String message) {
    return new DenialText(OptionalInt.empty(), Optional.empty(), Optional.of(message));
  }
}
