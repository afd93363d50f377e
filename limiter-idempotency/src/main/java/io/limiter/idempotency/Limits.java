// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import java.time.Duration;

/** The times of submissions: those by default, and their bounds. */
final class Limits {

  static final Duration RETAIN = Duration.ofHours(24);
  static final Duration MIN_RETAIN = Duration.ofSeconds(1);
  static final Duration MAX_RETAIN = Duration.ofDays(366);
  static final Duration CLAIM = Duration.ofSeconds(30);
  static final Duration MIN_CLAIM = Duration.ofSeconds(1);
  static final Duration MAX_CLAIM = Duration.ofMinutes(10);
  static final Duration MAX_WAIT = Duration.ofSeconds(2);
  static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

  private Limits() {}
}
