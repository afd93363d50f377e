// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.RuleStack;
import java.util.Set;

/**
 * Who is counted: an address, a user, everybody, the value of an argument.
 *
 * @param kind the kind of the subject, such as {@code ip}; subjects of different kinds are never
 *     equal
 * @param value identifies the subject within its kind; any text of any length, never stored in
 *     clear text
 */
public record Subject(String kind, String value) {

  /** The {@link #breadth} of a subject that stands for a single caller. */
  static final int ONE_CALLER = 0;

  /** The {@link #breadth} of an address, which many callers may share. */
  static final int AN_ADDRESS = 1;

  /** The {@link #breadth} of {@link #global()}. */
  static final int EVERYBODY = 2;

  /** The kind of callers without a subject of the kind that a limit counts. */
  public static final String ANONYMOUS = "anonymous";

  private static final String EVERYBODY_KIND = "global";
  private static final Set<String> ADDRESS_KINDS = Set.of("ip", ANONYMOUS);

  private static final Subject GLOBAL = new Subject(EVERYBODY_KIND, "*");

  public Subject {
    RuleStack.requireName("subject kind", kind);
    if (value.isEmpty()) {
      throw new IllegalArgumentException(
          "A subject of kind '%s' has an empty value: all callers without a value would be counted as one subject"
              .formatted(kind));
    }
  }

  /** All callers together. */
  public static Subject global() {
    return GLOBAL;
  }

  /** Whether the caller has no subject of the kind that a limit counts. */
  public boolean isAnonymous() {
    return kind.equals(ANONYMOUS);
  }

  /**
   * A rough measure of how many callers the subject stands for. A store that cannot charge several
   * subjects atomically charges the narrowest first, so that a denied call affects few other
   * callers.
   */
  public int breadth() {
    if (kind.equals(EVERYBODY_KIND)) {
      return EVERYBODY;
    }
    return ADDRESS_KINDS.contains(kind) ? AN_ADDRESS : ONE_CALLER;
  }

  /** Omits the value, which may be personal data. */
  @Override
  public String toString() {
    return "Subject[" + kind + "]";
  }
}
