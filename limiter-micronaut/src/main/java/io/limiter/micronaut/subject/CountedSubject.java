// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.core.Subject;

/**
 * The subject of one call.
 *
 * @param subject the subject
 * @param anonymous whether the limit's own source gave no subject
 */
public record CountedSubject(Subject subject, boolean anonymous) {

  /** A subject from the limit's own source. */
  public static CountedSubject known(String kind, String value) {
    return new CountedSubject(new Subject(kind, value), false);
  }
}
