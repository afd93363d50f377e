// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** What makes two submissions of one caller to one method the same. */
public enum DuplicateBy {
  /** They come from the same caller, whatever they hold. */
  CALLER,
  /**
   * They come from the same caller and their arguments are equal as JSON, whatever the order of its
   * members.
   */
  ARGUMENTS,
  /**
   * They come from the same caller and have the same {@code Idempotency-Key} header, whatever they
   * hold: 1 to 255 printable ASCII characters, as they are or as a quoted string.
   *
   * @see <a href="https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/">the
   *     draft</a>
   */
  IDEMPOTENCY_KEY
}
