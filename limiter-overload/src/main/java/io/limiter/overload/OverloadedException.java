// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import java.time.Duration;

/**
 * A call of a method with {@link LocalConcurrency} was rejected, since as many calls are in flight
 * as may be. A request that ends with it is answered 503.
 */
public final class OverloadedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final Duration retryAfter;

  OverloadedException(String name, Duration retryAfter) {
    // Without a stack trace: it is made where there is no time.
    super(
        "%s has as many calls in flight as it may have: repeat the call after %s s"
            .formatted(name, retryAfter.toSeconds()),
        null,
        false,
        false);
    this.retryAfter = retryAfter;
  }

  /**
   * A time after which the call may be repeated; random, so that callers do not return together.
   */
  public Duration retryAfter() {
    return retryAfter;
  }
}
