// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;

/**
 * Settings of the memory store, which decides while Redis does not answer, or always where no
 * {@code redis.uri} is set.
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(MemoryConfiguration.PREFIX)
public final class MemoryConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".memory";

  private int maxSubjects = 100_000;
  private int instances = 1;

  /** Maximum number of subjects that are stored at the same time. */
  public int getMaxSubjects() {
    return maxSubjects;
  }

  /** Default value 100,000; 1 or more. Further subjects share what is left of a limit. */
  public void setMaxSubjects(int maxSubjects) {
    if (maxSubjects < 1) {
      throw new ConfigurationException(
          "%s.max-subjects = %d: give it 1 or more".formatted(PREFIX, maxSubjects));
    }
    this.maxSubjects = maxSubjects;
  }

  /** Number of instances of the service, which share a limit wherever memory decides. */
  public int getInstances() {
    return instances;
  }

  /**
   * Default value 1, which gives every instance the whole limit. With more, each instance has the
   * count divided by their number, rounded up.
   */
  public void setInstances(int instances) {
    if (instances < 1) {
      throw new ConfigurationException(
          "%s.instances = %d: give it 1 or more".formatted(PREFIX, instances));
    }
    this.instances = instances;
  }
}
