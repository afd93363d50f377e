// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.cold;

import java.util.Set;

/**
 * The result of the calls in one situation, and the expected one.
 *
 * @param expected how many had to be admitted
 * @param deciders what may have decided
 * @param pingMillis the longest time that Redis took for a PING in this period
 */
record Finding(
    String situation,
    CallOutcomes answers,
    long admitted,
    long expected,
    Set<String> deciders,
    double pingMillis) {

  /** Whether Redis decided all, and as many were admitted as expected. */
  boolean exact() {
    return answers.notBy(deciders) == 0 && admitted == expected;
  }

  /** As tables show it: {@code 22, not 10}. */
  String admittedText() {
    return admitted == expected
        ? Long.toString(admitted)
        : "%s, not %s".formatted(admitted, expected);
  }
}
