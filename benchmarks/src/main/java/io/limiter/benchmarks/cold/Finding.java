// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.cold;

import java.util.Set;

/**
 * What came of the calls in one situation, and what had to come.
 *
 * @param expected how many had to be admitted
 * @param deciders what may have decided
 * @param pingMillis the longest that Redis took for a PING meanwhile
 */
record Finding(
    String situation,
    Answers answers,
    long admitted,
    long expected,
    Set<String> deciders,
    double pingMillis) {

  /** Redis decided all, and as many were admitted as have to be. */
  boolean exact() {
    return answers.notBy(deciders) == 0 && admitted == expected;
  }

  /** As tables show it: {@code 22, not 10}. */
  String admittedText() {
    return admitted == expected
        ? Long.toString(admitted)
        : "%d, not %d".formatted(admitted, expected);
  }
}
