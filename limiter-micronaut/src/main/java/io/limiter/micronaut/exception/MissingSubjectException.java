// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A call has no subject: the expression of its limit fails, or is null or empty, or the call is
 * anonymous and anonymous calls are denied. Over HTTP it is a bad request. The call is not
 * admitted, and calls without a subject are not counted together.
 */
public final class MissingSubjectException extends InvalidCallException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message what is missing, for the log
   */
  public MissingSubjectException(String message) {
    super(message, "{limiter.missing-subject}");
  }
}
