// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A call was abandoned while it waited for its turn, because its client disconnected or the service
 * stops. The method was not entered, and the place in the queue is free again. Over HTTP the
 * response is 503, if the client can still receive it.
 */
public final class CallAbandonedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public CallAbandonedException() {
    super("The call was abandoned while it waited for its turn", null, false, false);
  }
}
