// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A request lacks a required {@code Idempotency-Key}, or has an invalid one. Over HTTP it is a bad
 * request; nothing was counted.
 */
public final class InvalidIdempotencyKeyException extends InvalidCallException {

  private static final long serialVersionUID = 1L;

  private final boolean missing;

  private InvalidIdempotencyKeyException(String message, boolean missing) {
    super(
        message,
        missing ? "{limiter.idempotency-key-missing}" : "{limiter.idempotency-key-malformed}");
    this.missing = missing;
  }

  /** The request has no such header. */
  public static InvalidIdempotencyKeyException missing() {
    return new InvalidIdempotencyKeyException("The request has no Idempotency-Key header", true);
  }

  /**
   * The header's value is invalid.
   *
   * @param why what is wrong with it, without its value
   */
  public static InvalidIdempotencyKeyException malformed(String why) {
    return new InvalidIdempotencyKeyException(
        "The Idempotency-Key header is invalid: " + why, false);
  }

  /** Whether the request has no such header. */
  public boolean isMissing() {
    return missing;
  }
}
