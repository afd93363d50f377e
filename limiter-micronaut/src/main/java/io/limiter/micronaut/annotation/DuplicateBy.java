// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** What makes two submissions of one caller to one method the same. */
public enum DuplicateBy {
  /**
   * The default: {@link #ARGUMENTS} where the caller fills at least one argument and JSON can hold
   * all that the caller fills, else {@link #CALLER}; and {@code CALLER} where the route is decided
   * before security. The log lists at the start what was chosen for which method.
   *
   * <p>The caller of a route fills what comes from the body, the path, the query, a form, or a
   * header or cookie that an annotation names. What Micronaut, a filter or an argument binder of
   * the application provides is not compared: the request, its headers, parameters and cookies as a
   * whole, the principal, the verdict, {@code @RequestAttribute}, {@code @SessionValue}. The caller
   * of another method fills all its arguments but those that are such objects.
   */
  AUTO,
  /** They come from the same caller, whatever they hold. */
  CALLER,
  /**
   * They come from the same caller and their arguments are equal as JSON, whatever the order of its
   * members. That is decided around the method, after the body was read, not in the gate.
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
