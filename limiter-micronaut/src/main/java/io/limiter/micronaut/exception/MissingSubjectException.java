// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A call names nobody to count: the expression of its limit is null, empty or fails, or a stranger
 * comes where they are refused. Over HTTP it is a bad request. The call is not let through, and
 * strangers are not counted as one.
 */
public final class MissingSubjectException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message what the call lacks, for the log
   */
  public MissingSubjectException(String message) {
    super(message, null, false, false);
  }
}
