// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySourcePropertyResolver;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.value.PropertyResolver;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

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
    boolean named = all.stream().anyMatch(SettingSources::namesPolicies);
    all.forEach(source -> now.addPropertySource(named ? source : withoutPolicies(source)));
    return new SettingSources(all, now, environment);
  }

  /** Whether a value has the name of a setting of a policy: it may be in a placeholder. */
  private static boolean namesPolicies(PropertySource source) {
    for (String name : source) {
      String value = String.valueOf(source.get(name));
      if (value.contains("${") && LimitSettings.FREE.stream().anyMatch(value::contains)) {
        return true;
      }
    }
    return false;
  }

  /** The resolver spends most of its time on names, and those of policies are read raw. */
  private static PropertySource withoutPolicies(PropertySource source) {
    Map<String, Object> others = new LinkedHashMap<>();
    boolean some = false;
    for (String name : source) {
      if (LimitSettings.isFree(name)) {
        some = true;
      } else {
        others.put(name, source.get(name));
      }
    }
    return some
        ? PropertySource.of(source.getName(), others, source.getOrigin(), source.getOrder())
        : source;
  }

  private static List<PropertySource> sorted(Environment environment) {
    return environment.getPropertySources().stream()
        .sorted(Comparator.comparingInt(PropertySource::getOrder))
        .toList();
  }
}
