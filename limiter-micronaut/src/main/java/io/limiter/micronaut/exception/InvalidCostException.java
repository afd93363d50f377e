// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A call does not tell what it costs: the expression of its cost gives no whole number within
 * bounds, or fails. Over HTTP it is a bad request; nothing was counted, and the call is not let
 * through.
 */
public final class InvalidCostException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message what is wrong with the call, for the log
   */
  public InvalidCostException(String message) {
    super(message, null, false, false);
  }
}
