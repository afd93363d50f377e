// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;

/**
 * One limit: an algorithm with its numbers, and a name that tells it from the other rules of its
 * policy.
 *
 * <p>Names appear in header fields and error bodies, so they are short and plain; see {@link
 * #requireName}.
 */
public sealed interface Rule permits SlidingWindowLog {

  /** Longest name of a rule or a policy, in characters. */
  int MAX_NAME = 128;

  /** The name of this rule in header fields, error bodies and metrics. */
  String name();

  /** The most units that may be used within the {@link #window}. At least 1. */
  long count();

  /** The time over which units are counted. */
  Duration window();

  /** The same rule under another name. */
  Rule withName(String name);

  /** The same rule, by the same name, with another count. */
  Rule withCount(long count);

  /**
   * Checks a name: 1 to {@value #MAX_NAME} printable ASCII characters without space, quote or
   * backslash, so that it can stand in a header field, a metric's tag or a configuration key as it
   * is.
   *
   * @param what what is named, for the message: "rule", "policy"
   * @throws IllegalArgumentException if it is none of that, with the name and the remedy
   */
  static String requireName(String what, String name) {
    boolean plain =
        !name.isEmpty()
            && name.length() <= MAX_NAME
            && name.chars().allMatch(c -> c > ' ' && c < 127 && c != '"' && c != '\\');
    if (!plain) {
      throw new IllegalArgumentException(
          "The %s name '%s' is not usable: give it 1 to %d printable ASCII characters, without space, quote or backslash"
              .formatted(what, name, MAX_NAME));
    }
    return name;
  }
}
