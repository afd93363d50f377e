// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;

/** Settings of the application events of the limiter. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(EventsConfiguration.PREFIX)
public final class EventsConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".events";

  private static final int MAX_QUEUE_SIZE = 100_000;

  private int queueSize = 1_024;

  /** Maximum number of events that wait for their listeners. */
  public int getQueueSize() {
    return queueSize;
  }

  /** Default value 1,024; 1 to 100,000. Further events are dropped and counted. */
  public void setQueueSize(int queueSize) {
    if (queueSize < 1 || queueSize > MAX_QUEUE_SIZE) {
      throw new ConfigurationException(
          "%s.queue-size = %d: give it 1 to %d".formatted(PREFIX, queueSize, MAX_QUEUE_SIZE));
    }
    this.queueSize = queueSize;
  }
}
