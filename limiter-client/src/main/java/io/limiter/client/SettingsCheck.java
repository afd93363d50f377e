// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import io.micronaut.context.annotation.Context;
import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.context.env.SystemPropertiesPropertySource;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.naming.NameUtils;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds names under {@code limiter.client} that no setting has. In a file, on the command line or
 * in a map from code such a name stops the start. An environment variable or a system property may
 * be meant for something else, and is a warning.
 */
@Context // created at the start, so that a mistake stops it
final class SettingsCheck {

  private static final Logger LOG = LoggerFactory.getLogger(SettingsCheck.class);

  private static final String PREFIX = ClientConfiguration.PREFIX;

  /** All settings; a test compares them with those that the compiler found. */
  static final List<String> KNOWN =
      List.of("jitter", "max-retry-after", "max-servers", "max-wait", "max-waiters");

  private static final String ADVICE =
      ": there is no such setting; those of %s are %s".formatted(PREFIX, String.join(", ", KNOWN));

  private static final String VARIABLES = variable(PREFIX) + '_';

  /** Variables that Kubernetes sets for a service named limiter-client. */
  private static final Pattern KUBERNETES =
      Pattern.compile(VARIABLES + "(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\\d+_.+)?)");

  private final List<String> mistakes = new ArrayList<>();

  /**
   * @throws ConfigurationException naming all settings that do not exist
   */
  SettingsCheck(Environment environment) {
    for (PropertySource source : environment.getPropertySources()) {
      boolean isOfVariables = source.getConvention() == PropertyConvention.ENVIRONMENT_VARIABLE;
      for (String name : source) {
        if (!name.regionMatches(true, 0, PREFIX, 0, "limiter".length())) {
          continue; // nearly all
        }
        if (isOfVariables) {
          checkVariable(name);
        } else {
          check(name, source.get(name), source);
        }
      }
    }
    if (!mistakes.isEmpty()) {
      throw new ConfigurationException(String.join("\n", mistakes));
    }
    requireReadable(environment, "jitter", Double.class, "a number");
    for (String number : List.of("max-servers", "max-waiters")) {
      requireReadable(environment, number, Integer.class, "a number");
    }
    for (String time : List.of("max-retry-after", "max-wait")) {
      requireReadable(environment, time, Duration.class, "a time, such as 500ms");
    }
  }

  /** Micronaut takes the default in place of a value that it cannot convert. */
  private static void requireReadable(
      Environment environment, String name, Class<?> type, String what) {
    String property = PREFIX + '.' + name;
    environment
        .getProperty(property, String.class)
        .filter(text -> ConversionService.SHARED.convert(text, type).isEmpty())
        .ifPresent(
            text -> {
              throw new ConfigurationException(
                  "%s = %s: set it to %s".formatted(property, text, what));
            });
  }

  private static void checkVariable(String name) {
    if (name.startsWith(VARIABLES)
        && KNOWN.stream().noneMatch(known -> name.equals(VARIABLES + variable(known)))
        && !KUBERNETES.matcher(name).matches()) {
      LOG.warn("The environment variable {} has no effect{}", name, ADVICE);
    }
  }

  /** A file has a property for each leaf; a map from code may contain maps. */
  private void check(String raw, @Nullable Object value, PropertySource source) {
    String name = NameUtils.hyphenate(raw, true);
    boolean isGroup = name.equals(PREFIX) || PREFIX.startsWith(name + '.');
    if (value instanceof Map<?, ?> map && isGroup) {
      map.forEach((inner, deeper) -> check(raw + '.' + inner, deeper, source));
    } else if (isUnknown(name, value)) {
      if (source.getName().equals(SystemPropertiesPropertySource.NAME)) {
        LOG.warn("The system property {} has no effect{}", raw, ADVICE);
      } else {
        String where = source.getOrigin().location();
        mistakes.add((where.equals(PropertySource.CONTEXT) ? raw : raw + " in " + where) + ADVICE);
      }
    }
  }

  /** The group itself may be empty. */
  private static boolean isUnknown(String name, @Nullable Object value) {
    if (name.equals(PREFIX)) {
      return !Objects.toString(value, "").isBlank();
    }
    return name.startsWith(PREFIX + '[')
        || (name.startsWith(PREFIX + '.') && !KNOWN.contains(name.substring(PREFIX.length() + 1)));
  }

  private static String variable(String name) {
    return NameUtils.environmentName(name);
  }
}
