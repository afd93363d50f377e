// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySourcePropertyResolver;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.value.PropertyResolver;
import java.util.Comparator;
import java.util.List;

/**
 * All sources of properties at one moment.
 *
 * @param all those of a lower precedence first
 * @param properties what they have together
 * @param conversions converts their values
 */
@Internal
public record SettingSources(
    List<PropertySource> all, PropertyResolver properties, ConversionService conversions) {

  /** The sources at the start, when the environment has no others. */
  static SettingSources atStart(Environment environment) {
    return new SettingSources(sorted(environment), environment, environment);
  }

  /**
   * The sources now. After a refresh the environment itself also has what the sources had before,
   * so their properties are resolved once more.
   */
  public static SettingSources of(Environment environment) {
    PropertySourcePropertyResolver now = new PropertySourcePropertyResolver(environment, false);
    List<PropertySource> all = sorted(environment);
    all.forEach(now::addPropertySource);
    return new SettingSources(all, now, environment);
  }

  private static List<PropertySource> sorted(Environment environment) {
    return environment.getPropertySources().stream()
        .sorted(Comparator.comparingInt(PropertySource::getOrder))
        .toList();
  }
}
