// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.micronaut.http.HttpRequest;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The {@code Idempotency-Key} of a request: a quoted string as in
 * draft-ietf-httpapi-idempotency-key-header, or the unquoted text that most clients send. Both are
 * the same key. The parameters that an Item of RFC 9651 may have are not a part of it.
 *
 * @param key the key; empty if there is none that is valid
 * @param mistake what is wrong with the field, without its value; empty if there is no such field,
 *     or it is valid
 */
record IdempotencyKey(Optional<String> key, Optional<String> mistake) {

  /** The name of the header. */
  static final String HEADER = "Idempotency-Key";

  private static final int MAX_LENGTH = 255;

  /** As long as a key of quotes may be, and parameters. */
  private static final int MAX_FIELD = 1_024;

  private static final IdempotencyKey MISSING =
      new IdempotencyKey(Optional.empty(), Optional.empty());

  private static final String STRING = "\"(?:[ !#-\\[\\]-~]|\\\\[\"\\\\])*+\"";
  private static final String BARE =
      "(?:%s|-?[0-9]+(?:\\.[0-9]+)?|[A-Za-z*][!#$%%&'*+.^_`|~0-9A-Za-z:/-]*+|:[A-Za-z0-9+/=]*+:|\\?[01]|@-?[0-9]+)"
          .formatted(STRING);

  private static final Pattern PARAMETERS =
      Pattern.compile("(?:; *+[a-z*][a-z0-9_.*-]*+(?:=%s)?+)*+".formatted(BARE));

  /** That of this request. */
  static IdempotencyKey of(HttpRequest<?> request) {
    List<String> lines = request.getHeaders().getAll(HEADER);
    if (lines.isEmpty()) {
      return MISSING;
    }
    if (lines.size() > 1) {
      return malformed("it was sent %s times".formatted(lines.size()));
    }
    String field = withoutSpaceAround(lines.get(0));
    return field.isEmpty() ? MISSING : of(field);
  }

  /**
   * The key that such a field has: 1 to 255 printable ASCII characters, not all of them spaces.
   *
   * @param field without white space around it
   */
  static IdempotencyKey of(String field) {
    if (field.length() > MAX_FIELD) {
      return tooLong();
    }
    String key = field;
    if (field.startsWith("\"")) {
      int end = end(field);
      if (end < 0) {
        return malformed("it begins with a quote but is not a quoted string");
      }
      if (!PARAMETERS.matcher(field.substring(end)).matches()) {
        return malformed("what follows the quoted string is no parameter");
      }
      key = field.substring(1, end - 1).replaceAll("\\\\(.)", "$1");
    }
    if (key.length() > MAX_LENGTH) {
      return tooLong();
    }
    if (!key.chars().allMatch(c -> c >= ' ' && c < 127)) {
      return malformed("it has characters other than printable ASCII");
    }
    return key.isBlank()
        ? malformed("it is an empty string")
        : new IdempotencyKey(Optional.of(key), Optional.empty());
  }

  /**
   * Where a quoted string ends; -1 if it does not. RFC 9651 defines two escapes: of the quote and
   * of the backslash.
   */
  private static int end(String field) {
    for (int i = 1; i < field.length(); i++) {
      char c = field.charAt(i);
      if (c == '"') {
        return i + 1;
      }
      if (c == '\\') {
        i++;
        if (i == field.length() || (field.charAt(i) != '"' && field.charAt(i) != '\\')) {
          return -1;
        }
      }
    }
    return -1;
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

  private static IdempotencyKey malformed(String why) {
    return new IdempotencyKey(Optional.empty(), Optional.of(why));
  }

  private static IdempotencyKey tooLong() {
    return malformed("it is longer than %s characters".formatted(MAX_LENGTH));
  }
}
