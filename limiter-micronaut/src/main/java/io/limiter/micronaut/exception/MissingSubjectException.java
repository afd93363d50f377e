// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A call names nobody to count: the expression of its limit is null, empty or fails. Over HTTP it
 * is a bad request. The call is not let through, and strangers are not counted as one.
 */
public final class MissingSubjectException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message the method, the annotation's member, its value and the remedy
   */
  public MissingSubjectException(String message) {
    super(message, null, false, false);
  }
}
