// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/**
 * Who is counted: an address, a user, everybody, the value of an argument.
 *
 * @param kind what sort of subject it is, such as {@code ip}; subjects of different kinds are never
 *     the same
 * @param value which one of that sort; any text of any length, never stored in clear
 */
public record Subject(String kind, String value) {

  private static final Subject GLOBAL = new Subject("global", "*");

  public Subject {
    Rule.requireName("subject kind", kind);
    if (value.isEmpty()) {
      throw new IllegalArgumentException(
          "A subject of kind '%s' has an empty value: everybody without one would be counted as one"
              .formatted(kind));
    }
  }

  /** Everybody together. */
  public static Subject global() {
    return GLOBAL;
  }

  /** A subject without its value, which may be personal data. */
  @Override
  public String toString() {
    return "Subject[" + kind + "]";
  }
}
