// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import io.micronaut.http.client.exceptions.HttpClientException;
import java.time.Duration;

/**
 * A call was not sent, because the server has asked for a longer pause than a call may wait, or
 * because enough calls wait already. See {@link ObeyRateLimits}.
 */
public final class ServerRateLimitException extends HttpClientException {

  private static final long serialVersionUID = 1L;

  private final Duration retryAfter;

  /**
   * @param message the server and the reason
   * @param retryAfter the time for which the server has asked for a pause, from now on
   */
  public ServerRateLimitException(String message, Duration retryAfter) {
    super(message);
    this.retryAfter = retryAfter;
  }

  /** The time for which the server has asked for a pause, when this exception was thrown. */
  public Duration retryAfter() {
    return retryAfter;
  }
}
