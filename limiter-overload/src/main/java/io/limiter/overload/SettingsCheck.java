// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.config.Bounds;
import io.limiter.overload.Criticality.Level;
import io.micronaut.context.annotation.Prototype;
import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.context.env.SystemPropertiesPropertySource;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.naming.NameUtils;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds names under {@code limiter.overload} that no setting has, and switches that are neither
 * true nor false. In a file, on the command line or in a map from code such a name stops the start.
 * An environment variable or a system property may be meant for something else, and is a warning.
 */
@Prototype // run once, for the settings
final class SettingsCheck {

  private static final Logger LOG = LoggerFactory.getLogger(SettingsCheck.class);

  private static final String PREFIX = OverloadConfiguration.PREFIX;

  /** The members of a limit. */
  private static final Set<String> OF_LIMIT =
      Set.of("observe", "min", "initial", "max", "max-wait", "max-waiting");

  /** All settings with fixed names; a test compares them with those that the compiler found. */
  static final Set<String> KNOWN =
      Stream.of(
              OF_LIMIT.stream(),
              Stream.of("enabled", "streams", "criticality", "header", "trusted", "retry-after"),
              Stream.of("paths.exempt"),
              Stream.of(Level.values()).map(level -> "paths." + word(level)))
          .flatMap(names -> names)
          .collect(Collectors.toUnmodifiableSet());

  private static final List<String> SWITCHES = List.of("enabled", "observe", "streams");
  private static final Set<String> WORDS =
      Set.of("true", "yes", "on", "y", "false", "no", "off", "n");

  private static final Pattern LOCAL = Pattern.compile("local\\.[^.]+(\\.(.+))?");
  private static final Pattern INDEX = Pattern.compile("\\[\\d+]$");
  private static final String VARIABLES = NameUtils.environmentName(PREFIX) + '_';

  /** Variables that Kubernetes sets for a service named limiter-overload, and those of limits. */
  private static final Pattern OTHER_VARIABLES =
      Pattern.compile(VARIABLES + "(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\\d+_.+)?|LOCAL_.+)");

  private final List<String> mistakes = new ArrayList<>();
  private final Environment environment;

  SettingsCheck(Environment environment) {
    this.environment = environment;
  }

  /** The word of a criticality in settings and header fields. */
  static String word(Level level) {
    return level.name().toLowerCase(Locale.ROOT);
  }

  /**
   * @throws ConfigurationException naming all settings that do not exist, or the one that is
   *     invalid
   */
  void run() {
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
    SWITCHES.forEach(name -> requireSwitch(PREFIX + '.' + name));
    Bounds.requireReadable(environment, PREFIX + ".retry-after", Duration.class);
    requireReadableLimit(PREFIX);
    for (String name : environment.getPropertyEntries(PREFIX + ".local")) {
      requireSwitch(PREFIX + ".local." + name + ".observe");
      requireReadableLimit(PREFIX + ".local." + name);
    }
  }

  /** Micronaut reads a mistyped true as false. */
  private void requireSwitch(String property) {
    environment
        .getProperty(property, String.class)
        .filter(word -> !WORDS.contains(word.strip().toLowerCase(Locale.ROOT)))
        .ifPresent(
            word -> {
              throw new ConfigurationException(
                  "%s = %s: set it to true or false".formatted(property, word));
            });
  }

  private void requireReadableLimit(String prefix) {
    Bounds.requireReadable(environment, prefix + ".max-wait", Duration.class);
    for (String number : List.of("min", "initial", "max", "max-waiting")) {
      Bounds.requireReadable(environment, prefix + '.' + number, Integer.class);
    }
  }

  private static void checkVariable(String name) {
    if (name.startsWith(VARIABLES)
        && KNOWN.stream()
            .noneMatch(known -> name.equals(VARIABLES + NameUtils.environmentName(known)))
        && !OTHER_VARIABLES.matcher(name).matches()) {
      LOG.warn(
          "The environment variable {} has no effect: there is no such setting{}",
          name,
          advice(name.substring(VARIABLES.length()).toLowerCase(Locale.ROOT)));
    }
  }

  /** A file has a property for each leaf; a map from code may contain maps. */
  private void check(String raw, @Nullable Object value, PropertySource source) {
    String name = NameUtils.hyphenate(raw, true);
    boolean isAbove = PREFIX.startsWith(name + '.') || name.equals(PREFIX);
    boolean isUnder = name.startsWith(PREFIX + '.');
    if (value instanceof Map<?, ?> map && !map.isEmpty() && (isAbove || isUnder)) {
      map.forEach((inner, deeper) -> check(raw + '.' + inner, deeper, source));
      return;
    }
    boolean isGroup = name.equals(PREFIX) || name.startsWith(PREFIX + '[');
    boolean isEmpty =
        value instanceof Map<?, ?> || Objects.toString(value, "").isBlank(); // a group without any
    if (isGroup ? !isEmpty : isUnder && !isKnown(name.substring(PREFIX.length() + 1), isEmpty)) {
      unknown(raw, isGroup ? "" : name.substring(PREFIX.length() + 1), source);
    }
  }

  private static boolean isKnown(String own, boolean isEmpty) {
    var local = LOCAL.matcher(own);
    if (local.matches()) {
      String member = local.group(2);
      return member == null ? isEmpty : OF_LIMIT.contains(member);
    }
    return KNOWN.contains(INDEX.matcher(own).replaceFirst(""))
        || (isEmpty && (own.equals("paths") || own.equals("local")));
  }

  private void unknown(String raw, String own, PropertySource source) {
    if (source.getName().equals(SystemPropertiesPropertySource.NAME)) {
      LOG.warn(
          "The system property {} has no effect: there is no such setting{}", raw, advice(own));
      return;
    }
    String where = source.getOrigin().location();
    mistakes.add(
        (where.equals(PropertySource.CONTEXT) ? raw : raw + " in " + where)
            + ": there is no such setting"
            + advice(own));
  }

  private static String advice(String own) {
    if (own.startsWith("paths.")) {
      return "; the criticalities are critical, high, normal, low, background, and paths may be exempt";
    }
    if (own.startsWith("local")) {
      return "; those of a name are " + String.join(", ", new TreeSet<>(OF_LIMIT));
    }
    String name = own.replace('_', '-');
    return KNOWN.stream()
        .min(Comparator.comparingInt(known -> NearestNames.changes(known, name)))
        .filter(known -> NearestNames.changes(known, name) <= NearestNames.MOST_CHANGES)
        .map(known -> "; did you mean %s.%s?".formatted(PREFIX, known))
        .orElse("; those of %s are %s".formatted(PREFIX, String.join(", ", new TreeSet<>(KNOWN))));
  }
}
