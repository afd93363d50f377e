// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;

/**
 * The memory store, which decides while Redis does not answer, or always where no {@code redis.uri}
 * is set.
 */
@ConfigurationProperties(MemoryConfiguration.PREFIX)
public final class MemoryConfiguration {

  /** All settings stand under this. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".memory";

  private int maxSubjects = 100_000;

  /** Subjects that are remembered at the same time. */
  public int getMaxSubjects() {
    return maxSubjects;
  }

  /** Default value 100,000; beyond them, new subjects share what is left of a limit. */
  public void setMaxSubjects(int maxSubjects) {
    this.maxSubjects = maxSubjects;
  }
}
