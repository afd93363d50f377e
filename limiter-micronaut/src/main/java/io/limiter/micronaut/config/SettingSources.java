// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySourcePropertyResolver;
import io.micronaut.context.env.SystemPropertiesPropertySource;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.convert.ConversionServiceProvider;
import io.micronaut.core.value.PropertyResolver;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

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

  private static final Duration QUIET = Duration.ofMillis(500);
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** The sources at the start, when the environment has no others. */
  static SettingSources atStart(Environment environment) {
    return new SettingSources(sorted(environment), environment, conversions(environment));
  }

  /**
   * These sources. After a refresh the environment itself also has what the sources had before, and
   * while it is refreshed it has nothing, so their properties are resolved once more.
   */
  public static SettingSources of(Environment environment, List<PropertySource> all) {
    ConversionService conversions = conversions(environment);
    PropertySourcePropertyResolver now = new PropertySourcePropertyResolver(conversions, false);
    all.forEach(now::addPropertySource);
    return new SettingSources(all, now, conversions);
  }

  /** In Micronaut 4 the environment converts by itself, in Micronaut 5 it has a service for it. */
  private static ConversionService conversions(Object environment) {
    return environment instanceof ConversionServiceProvider provider
        ? provider.getConversionService()
        : (ConversionService) environment;
  }

  /**
   * The sources now, all of them. A refresh of the environment removes its files, variables and
   * system properties, and adds them again in this order, all without a lock. So this waits while
   * there are no system properties; where another source is missing, until the others have stayed
   * the same for a while. Blocks.
   *
   * @param before those of the last time
   * @throws ConfigurationException if this takes too long
   */
  public static SettingSources whole(Environment environment, List<PropertySource> before) {
    long begin = System.nanoTime();
    long same = begin;
    List<PropertySource> now = sorted(environment);
    while (true) {
      Set<String> gone = names(before);
      gone.removeAll(names(now));
      if (environment.isRunning()
          && (gone.isEmpty()
              || (!gone.contains(SystemPropertiesPropertySource.NAME)
                  && System.nanoTime() - same > QUIET.toNanos()))) {
        return of(environment, now);
      }
      if (System.nanoTime() - begin > PATIENCE.toNanos()) {
        throw new ConfigurationException(
            "another refresh still reads it after %s s, or could not read a file: correct that, and refresh again"
                .formatted(PATIENCE.toSeconds()));
      }
      pause();
      List<PropertySource> next = sorted(environment);
      if (!next.equals(now)) {
        now = next;
        same = System.nanoTime();
      }
    }
  }

  private static Set<String> names(List<PropertySource> sources) {
    return sources.stream().map(PropertySource::getName).collect(Collectors.toSet());
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(10);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ConfigurationException("the refresh was interrupted", e);
    }
  }

  private static List<PropertySource> sorted(Environment environment) {
    return environment.getPropertySources().stream()
        .sorted(Comparator.comparingInt(PropertySource::getOrder))
        .toList();
  }
}
