// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.micronaut.subject.SubjectSource;
import java.time.Duration;
import java.util.Set;

/**
 * What holds for the keys of one route.
 *
 * @param scope its method or path: the same key on two routes makes two submissions
 * @param retain for how long an end is kept
 * @param repeats whether responses are kept
 * @param claim for how long a key is taken without a renewal
 * @param maxWait for how long a repetition waits
 * @param releaseOn statuses below 500 of the method's responses that free the key
 * @param required whether a request needs a key
 * @param limitsFirst whether the limits decide before the key is looked for
 * @param owner whose keys they are
 * @param seesMethod whether the interceptor shows when the method begins and ends; otherwise only
 *     its response does
 */
record Terms(
    String scope,
    Duration retain,
    boolean repeats,
    Duration claim,
    Duration maxWait,
    Set<Integer> releaseOn,
    boolean required,
    boolean limitsFirst,
    SubjectSource owner,
    boolean seesMethod) {

  static final Duration RETAIN = Duration.ofHours(24);
  static final Duration MIN_RETAIN = Duration.ofSeconds(1);
  static final Duration MAX_RETAIN = Duration.ofDays(366);
  static final Duration CLAIM = Duration.ofSeconds(30);
  static final Duration MIN_CLAIM = Duration.ofSeconds(1);
  static final Duration MAX_CLAIM = Duration.ofMinutes(10);
  static final Duration MAX_WAIT = Duration.ofSeconds(2);
  static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

  /** The name of a header field. */
  static final String FIELD_NAME = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

  private static final int SERVER_ERROR = 500;

  /** Whether a response with this status, which the method has returned, frees the key. */
  boolean releases(int status) {
    return status >= SERVER_ERROR || releaseOn.contains(status);
  }
}
