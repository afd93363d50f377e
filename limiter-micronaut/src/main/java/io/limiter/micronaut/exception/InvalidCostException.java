// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A call has no valid cost: the expression fails or does not give a whole number within the bounds.
 * Over HTTP the call is a bad request. It is not admitted, and nothing was counted.
 */
public final class InvalidCostException extends InvalidCallException {

  private static final long serialVersionUID = 1L;

  /**
   * @param message what is wrong with the call, for the log
   */
  public InvalidCostException(String message) {
    super(message, "{limiter.invalid-cost}");
  }
}
