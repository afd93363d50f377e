// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.exception.DenialText;
import java.util.Optional;
import java.util.OptionalInt;

/** Reads what an annotation says that a refused caller is answered. */
final class DenialTextReader {

  private DenialTextReader() {}

  /** For a call that a rule refused. */
  static DenialText refused(Members limiter) {
    return orNone(
        new DenialText(
            status(limiter, "status"), limiter.text("code"), message(limiter, "message")));
  }

  /** For a duplicate. */
  static DenialText duplicate(Members limiter) {
    return orNone(
        new DenialText(
            status(limiter, "duplicateStatus"),
            limiter.text("duplicateCode"),
            message(limiter, "duplicateMessage").or(() -> message(limiter, "message"))));
  }

  private static DenialText orNone(DenialText text) {
    return text.equals(DenialText.NONE) ? DenialText.NONE : text;
  }

  private static Optional<String> message(Members limiter, String member) {
    return limiter.text(member);
  }

  private static OptionalInt status(Members limiter, String member) {
    OptionalInt status = limiter.annotation().intValue(member);
    if (status.isPresent() && (status.getAsInt() < 400 || status.getAsInt() > 599)) {
      throw limiter.error(member, status.getAsInt(), "give it an error status, 400 to 599");
    }
    return status;
  }
}
