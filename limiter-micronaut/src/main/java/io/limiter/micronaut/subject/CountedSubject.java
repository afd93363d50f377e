// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.core.Subject;

/**
 * Who is counted for one call.
 *
 * @param subject who
 * @param anonymous whether it is somebody whom the limit could not tell
 */
public record CountedSubject(Subject subject, boolean anonymous) {

  /** Somebody who was told. */
  public static CountedSubject known(String kind, String value) {
    return new CountedSubject(new Subject(kind, value), false);
  }
}
