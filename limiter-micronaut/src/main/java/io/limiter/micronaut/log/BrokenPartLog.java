// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.log;

import io.limiter.core.util.LogThrottle;
import io.micronaut.core.annotation.Internal;
import org.slf4j.Logger;

/**
 * Logs that a part of the application failed and a response is sent without it: with the stack
 * trace, at most once in ten seconds, since denials may be very frequent.
 */
@Internal
public final class BrokenPartLog {

  private final Logger log;
  private final LogThrottle throttle = new LogThrottle();

  public BrokenPartLog(Logger log) {
    this.log = log;
  }

  /**
   * @param instead which part has failed, and what is done instead
   */
  public void report(String instead, Throwable failure) {
    long times = throttle.count();
    if (times > 0) {
      log.error("{}. Times since the last message: {}", instead, times, failure);
    }
  }
}
