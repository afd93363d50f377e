// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.exception.InvalidCallException.InvalidIdempotencyKeyException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.List;
import java.util.Optional;

/**
 * Reads the {@code Idempotency-Key} header: a quoted string as in
 * draft-ietf-httpapi-idempotency-key-header, or the unquoted text that most clients send. Both are
 * the same key.
 */
@Internal
public final class IdempotencyKey {

  /** The name of the header. */
  public static final String HEADER = "Idempotency-Key";

  private static final int MAX_LENGTH = 255;

  private IdempotencyKey() {}

  /**
   * The key of this request; empty if it has no such header.
   *
   * @throws InvalidIdempotencyKeyException if there are several, or if it is not 1 to 255 printable
   *     ASCII characters
   */
  public static Optional<String> of(HttpRequest<?> request) {
    List<String> lines = request.getHeaders().getAll(HEADER);
    if (lines.isEmpty()) {
      return Optional.empty();
    }
    if (lines.size() > 1) {
      throw InvalidIdempotencyKeyException.malformed(
          "it was sent %s times".formatted(lines.size()));
    }
    String field = withoutSpaceAround(lines.get(0));
    return field.isEmpty() ? Optional.empty() : Optional.of(of(field));
  }

  /**
   * The key that such a field has.
   *
   * @param field without white space around it
   * @throws InvalidIdempotencyKeyException if it is not 1 to 255 printable ASCII characters
   */
  public static String of(String field) {
    if (field.isEmpty()) {
      throw InvalidIdempotencyKeyException.malformed("it is an empty string");
    }
    if (field.length() > 2 * MAX_LENGTH + 2) {
      throw tooLong();
    }
    String key = field.charAt(0) == '"' ? unquoted(field) : field;
    if (key.length() > MAX_LENGTH) {
      throw tooLong();
    }
    if (!key.chars().allMatch(c -> c >= ' ' && c < 127)) {
      throw InvalidIdempotencyKeyException.malformed(
          "it has characters other than printable ASCII");
    }
    if (key.isBlank()) {
      throw InvalidIdempotencyKeyException.malformed("it is an empty string");
    }
    return key;
  }

  /**
   * Only these two characters are optional white space in RFC 9110, section 5.6.3; Java strips many
   * more.
   */
  private static String withoutSpaceAround(String line) {
    int from = 0;
    int to = line.length();
    while (from < to && isSpace(line.charAt(from))) {
      from++;
    }
    while (to > from && isSpace(line.charAt(to - 1))) {
      to--;
    }
    return line.substring(from, to);
  }

  private static boolean isSpace(char c) {
    return c == ' ' || c == '\t';
  }

  /** RFC 9651 defines two escapes within a string: of the quote and of the backslash. */
  private static String unquoted(String field) {
    StringBuilder key = new StringBuilder(field.length());
    int last = field.length() - 1;
    for (int i = 1; i < last; i++) {
      char c = field.charAt(i);
      if (c == '\\') {
        i++;
        c = i < last ? field.charAt(i) : 0;
        if (c != '"' && c != '\\') {
          throw notAString();
        }
      } else if (c == '"') {
        throw notAString();
      }
      key.append(c);
    }
    if (last == 0 || field.charAt(last) != '"') {
      throw notAString();
    }
    return key.toString();
  }

  private static InvalidIdempotencyKeyException notAString() {
    return InvalidIdempotencyKeyException.malformed(
        "it begins with a quote but is not a quoted string");
  }

  private static InvalidIdempotencyKeyException tooLong() {
    return InvalidIdempotencyKeyException.malformed(
        "it is longer than %s characters".formatted(MAX_LENGTH));
  }
}
