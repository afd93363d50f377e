// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * The parts of a denial's response that an annotation defines. The configuration defines the
 * others.
 *
 * @param status the status of the response, 400 to 599
 * @param code the code by which programs recognize the denial
 * @param message the message for people: a text, or the key of a message in braces
 */
public record DenialText(OptionalInt status, Optional<String> code, Optional<String> message) {

  /** Everything as configured. */
  public static final DenialText NONE =
      new DenialText(OptionalInt.empty(), Optional.empty(), Optional.empty());

  /** Only a message; everything else as configured. */
  public static DenialText message(String message) {
    return new DenialText(OptionalInt.empty(), Optional.empty(), Optional.of(message));
  }
}
