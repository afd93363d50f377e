// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/**
 * How a call without a subject is limited: no user is logged in, the header is missing or empty, or
 * a {@link SubjectResolver} returns no subject. Such calls are never counted together as one
 * subject.
 */
public enum Anonymous {
  /** The call is counted by the client's address, separately from the subjects that are known. */
  ADDRESS,
  /** The call is denied as a bad request, before anything is counted. */
  REJECT
}
