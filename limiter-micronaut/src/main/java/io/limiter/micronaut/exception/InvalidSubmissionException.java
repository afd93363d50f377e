// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * The arguments of a call cannot be compared with those of others, because they are nested too
 * deep. Over HTTP it is a bad request. The rules of the method have counted the call, and its
 * method is not entered.
 */
public final class InvalidSubmissionException extends InvalidCallException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message what is wrong with the call, for the log: nothing of what it contains
   */
  public InvalidSubmissionException(String message) {
    super(message, "{limiter.invalid-submission}");
  }
}
