// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import java.util.function.Supplier;

/**
 * Where a value of a policy stands.
 *
 * @param key the whole name of the setting or of the environment variable; in an annotation, the
 *     method, the annotation and the member
 * @param value the value as written
 * @param source where a setting stands, such as {@code application.yml} or {@code env}; empty for
 *     an annotation
 */
public record Origin(String key, String value, String source) {

  /** The origin of a member of an annotation. */
  public static Origin annotated(String method, String member, Object value) {
    return new Origin(method + ": " + member, String.valueOf(value), "");
  }

  /** Whether this is a setting, not a member of an annotation. */
  public boolean isSetting() {
    return !source.isEmpty();
  }

  /** A mistake in this value: always its place, the value and the remedy. */
  public ConfigurationException mistake(String remedy) {
    return new ConfigurationException("%s: %s".formatted(this, remedy));
  }

  /**
   * Makes something of this value.
   *
   * @param make rejects the value by an {@link IllegalArgumentException} with the remedy
   */
  @Internal
  public <T> T accepted(Supplier<T> make) {
    try {
      return make.get();
    } catch (IllegalArgumentException e) {
      throw mistake(String.valueOf(e.getMessage()));
    }
  }

  @Override
  public String toString() {
    return key + " = " + value + (isSetting() ? " in " + source : "");
  }
}
