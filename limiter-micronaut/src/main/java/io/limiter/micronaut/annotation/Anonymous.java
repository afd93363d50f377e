// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/**
 * What becomes of a caller whom the limit cannot tell: nobody is logged in, the header is missing
 * or empty, a {@link SubjectResolver} names nobody. Such callers are never counted as one.
 */
public enum Anonymous {
  /** He is counted by his address, apart from the callers that are told. */
  ADDRESS,
  /** The call is refused as a bad request, before anything is counted. */
  REFUSE
}
