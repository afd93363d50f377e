// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A call was given up while it waited for its turn, because its caller went away or the service
 * stops: it was not made, and its place in the queue is free. Over HTTP it is answered with 503,
 * should anybody still be there to read it.
 */
public final class CallAbandonedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public CallAbandonedException() {
    super("The call was given up while it waited for its turn", null, false, false);
  }
}
