// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

import io.limiter.core.Outcome;
import io.micronaut.core.annotation.Internal;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Parts of a denial's response. Those that an annotation does not define are as configured.
 *
 * @param status the status of the response, 400 to 599
 * @param code the code by which programs recognize the denial
 * @param message the message for people: a text, or the key of a message in braces
 */
public record DenialText(OptionalInt status, Optional<String> code, Optional<String> message) {

  /** Everything as configured. */
  public static final DenialText NONE =
      new DenialText(OptionalInt.empty(), Optional.empty(), Optional.empty());

  /** The response where a rule admits no call at all: that of a blocked caller. */
  @Internal public static final DenialText BLOCKED = of(403, "blocked", "{limiter.blocked}");

  /** The key, in braces, of the limiter's own message for calls that can never succeed. */
  public static final String TOO_COSTLY = "{limiter.too-costly}";

  /** The key, in braces, of the limiter's own message for calls over a concurrency limit. */
  public static final String IN_FLIGHT = "{limiter.in-flight}";

  /**
   * The key, in braces, of the limiter's own message for calls of this outcome.
   *
   * @throws IllegalArgumentException if such calls are not denied
   */
  @Internal
  public static String ownMessage(Outcome outcome) {
    return switch (outcome) {
      case LIMITED -> "{limiter.rate-limited}";
      case BANNED -> "{limiter.banned}";
      case DUPLICATE -> "{limiter.duplicate}";
      case UNAVAILABLE -> "{limiter.unavailable}";
      case ALLOWED -> throw new IllegalArgumentException("Calls that are allowed are not denied");
    };
  }

  /** All parts. */
  public static DenialText of(int status, String code, String message) {
    return new DenialText(OptionalInt.of(status), Optional.of(code), Optional.of(message));
  }

  /** Only a message; everything else as configured. */
  public static DenialText message(String message) {
    return new DenialText(OptionalInt.empty(), Optional.empty(), Optional.of(message));
  }

  /** These parts, and those of another that are missing here. */
  public DenialText or(DenialText other) {
    return new DenialText(
        status.isPresent() ? status : other.status,
        code.or(other::code),
        message.or(other::message));
  }
}
