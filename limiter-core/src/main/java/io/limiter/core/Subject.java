// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.Rule;
import java.util.Set;

/**
 * Who is counted: an address, a user, everybody, the value of an argument.
 *
 * @param kind what sort of subject it is, such as {@code ip}; subjects of different kinds are never
 *     the same
 * @param value which one of that sort; any text of any length, never stored in clear
 */
public record Subject(String kind, String value) {

  /** The {@link #breadth} of a subject behind which one caller stands. */
  public static final int ONE_CALLER = 0;

  /** That of an address, which many may share. */
  public static final int AN_ADDRESS = 1;

  /** That of everybody. */
  public static final int EVERYBODY = 2;

  private static final String EVERYBODY_KIND = "global";
  private static final Set<String> ADDRESS_KINDS = Set.of("ip", "anonymous");

  private static final Subject GLOBAL = new Subject(EVERYBODY_KIND, "*");

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

  /**
   * How many callers may stand behind it, roughly: a store that cannot take from several subjects
   * at once begins with the narrowest, so that a call which is refused has disturbed few.
   */
  public int breadth() {
    if (kind.equals(EVERYBODY_KIND)) {
      return EVERYBODY;
    }
    return ADDRESS_KINDS.contains(kind) ? AN_ADDRESS : ONE_CALLER;
  }

  /** A subject without its value, which may be personal data. */
  @Override
  public String toString() {
    return "Subject[" + kind + "]";
  }
}
