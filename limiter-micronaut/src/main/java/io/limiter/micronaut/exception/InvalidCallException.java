// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A call lacks a value that its limits need, or has an invalid one. Over HTTP it is a bad request,
 * 400, in the error format of the application; the method is not entered.
 */
public abstract sealed class InvalidCallException extends RuntimeException
    permits InvalidCostException,
        InvalidIdempotencyKeyException,
        InvalidSubmissionException,
        MissingSubjectException {

  private static final long serialVersionUID = 1L;

  private final String response;

  InvalidCallException(String message, String response) {
    super(message, null, false, false);
    this.response = response;
  }

  /**
   * The key of the message in the response, in braces, such as <code>{limiter.invalid-cost}</code>.
   * The message of this exception is for the log.
   */
  public final String responseMessage() {
    return response;
  }
}
