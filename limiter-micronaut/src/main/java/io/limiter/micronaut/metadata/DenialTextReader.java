// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.DenialText;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** Reads the parts of a denial's response that an annotation defines. */
@Singleton
final class DenialTextReader {

  private final Consumer<String> requireUsable;

  @Inject
  DenialTextReader(DenialMessages messages) {
    this(messages::requireUsable);
  }

  /**
   * @param requireUsable rejects unusable messages by an {@link IllegalArgumentException}
   */
  DenialTextReader(Consumer<String> requireUsable) {
    this.requireUsable = requireUsable;
  }

  /** For a call that a rule denied. */
  DenialText limited(AnnotationMembers limiter) {
    return orNone(
        new DenialText(
            status(limiter, "status"), code(limiter, "code"), message(limiter, "message")));
  }

  /** For a duplicate, whose message is by default that of the limiter. */
  DenialText duplicate(AnnotationMembers details, AnnotationMembers limiter) {
    return orNone(
        new DenialText(
            status(details, "status"),
            code(details, "code"),
            message(details, "message").or(() -> message(limiter, "message"))));
  }

  private static DenialText orNone(DenialText text) {
    return text.equals(DenialText.NONE) ? DenialText.NONE : text;
  }

  private Optional<String> message(AnnotationMembers limiter, String member) {
    Optional<String> message = limiter.text(member);
    try {
      message.ifPresent(requireUsable);
    } catch (IllegalArgumentException e) {
      throw limiter.error(member, message.orElse(""), String.valueOf(e.getMessage()));
    }
    return message;
  }

  private static Optional<String> code(AnnotationMembers limiter, String member) {
    Optional<String> code = limiter.text(member);
    if (code.filter(String::isBlank).isPresent()) {
      throw limiter.error(member, code.orElse(""), "it is blank: write a code, or leave it out");
    }
    return code;
  }

  private static OptionalInt status(AnnotationMembers limiter, String member) {
    OptionalLong status = limiter.number(member);
    if (status.isEmpty()) {
      return OptionalInt.empty();
    }
    long number = status.getAsLong();
    if (number < 400 || number > 599) {
      throw limiter.error(member, number, "give it an error status, 400 to 599");
    }
    return OptionalInt.of((int) number);
  }
}
