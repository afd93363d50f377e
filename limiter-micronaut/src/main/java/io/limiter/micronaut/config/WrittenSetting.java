// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.exceptions.ConfigurationException;

/**
 * One setting of a policy, as it was written.
 *
 * @param key the whole name of the property or of the environment variable
 * @param value its text; of a list, its items, separated by commas
 * @param source where it was written, such as {@code application.yml} or {@code env}
 */
public record WrittenSetting(String key, String value, String source) {

  /** A mistake in this setting: always its key, its value, where it was written and the remedy. */
  public ConfigurationException mistake(String remedy) {
    return new ConfigurationException("%s: %s".formatted(this, remedy));
  }

  @Override
  public String toString() {
    return "%s = %s in %s".formatted(key, value, source);
  }
}
