// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import static io.limiter.micronaut.config.FixedSettings.KNOWN;

import io.limiter.core.util.NearestNames;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.context.env.SystemPropertiesPropertySource;
import io.micronaut.core.naming.NameUtils;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds unknown names under {@code limiter}, which would otherwise have no effect silently. In a
 * file, on the command line or in a map from code such a name stops the start, or a refresh. An
 * environment variable or a system property may be meant for something else: it causes one warning,
 * or none where that is clearly the case.
 *
 * <p>Values may be secret and appear in no message.
 */
final class UnknownSettings {

  private static final Logger LOG = LoggerFactory.getLogger(UnknownSettings.class);

  /**
   * Prefixes under which the application chooses the names; the readers of these settings find
   * mistakes.
   */
  private static final List<String> NAMED =
      List.of(PoliciesConfiguration.PREFIX, LimitKeys.TIERS, TemplateConfiguration.PREFIX);

  /** Settings of micronaut-redis that users easily expect here. */
  private static final List<String> ELSEWHERE = List.of("redis.uri", "redis.uris");

  /** Variables that Kubernetes sets for a service named limiter or limiter-something. */
  private static final Pattern KUBERNETES =
      Pattern.compile(
          ".*_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)");

  /** System properties and variables of this project's own tests. */
  private static final Pattern TESTS =
      Pattern.compile("LIMITER_(TEST(_.*)?|SEEDS?|INPUTS|SOAK|PICTURES|API|REPLIES|FUZZ_SECONDS)");

  private static final Pattern NO_LETTER_OF_VARIABLES = Pattern.compile("[^A-Z0-9]");
  private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{([^:${}]+)");
  private static final Pattern INDEXES = Pattern.compile("(\\[\\d+])+$");

  /** The variables and system properties that a warning has named. */
  private final Set<String> warned = new HashSet<>();

  private final List<String> mistakes = new ArrayList<>();
  private Collection<PropertySource> sources = List.of();

  /**
   * The mistakes in files, on the command line and in maps. Names that may belong to something else
   * are logged.
   */
  List<String> mistakes(Collection<PropertySource> all) {
    sources = all;
    mistakes.clear();
    for (PropertySource source : sources) {
      for (String name : source) {
        if (mayBeOurs(name)) { // few names match; the others cost next to nothing
          check(name, source);
        }
      }
    }
    return List.copyOf(mistakes);
  }

  private static boolean mayBeOurs(String name) {
    String prefix = LimiterConfiguration.PREFIX;
    return name.regionMatches(true, 0, prefix, 0, prefix.length());
  }

  private void check(String name, PropertySource source) {
    if (source.getConvention() == PropertyConvention.ENVIRONMENT_VARIABLE) {
      checkVariable(name);
    } else if (source.getName().equals(SystemPropertiesPropertySource.NAME)) {
      checkSystemProperty(name);
    } else {
      check(name, source.get(name), source);
    }
  }

  /** A file has a property for each leaf; a map from code may contain maps. */
  private void check(String raw, @Nullable Object value, PropertySource source) {
    if (isFree(raw)) { // first, since there may be thousands
      return;
    }
    String name = NameUtils.hyphenate(raw, true);
    if (!isOurs(name) || ModuleSettings.areThereFor(name)) {
      return;
    }
    if (value instanceof Map<?, ?> map && !map.isEmpty()) {
      map.forEach((inner, deeper) -> check(raw + '.' + inner, deeper, source));
    } else if (!isKnown(name) && !(isGroup(name) && isEmpty(value))) {
      String origin = source.getOrigin().location();
      mistakes.add(
          (origin.equals(PropertySource.CONTEXT) ? raw : raw + " in " + origin)
              + ": there is no such setting"
              + advice(raw));
    }
  }

  private void checkSystemProperty(String raw) {
    String name = NameUtils.hyphenate(raw, true);
    if (isOurs(name)
        && !isFree(raw)
        && !ModuleSettings.areThereFor(name)
        && !isKnown(name)
        && !isOfOthers(variable(name))
        && warned.add(raw)) {
      LOG.warn(
          "The system property {} has no effect: there is no such setting{}", raw, advice(raw));
    }
  }

  private void checkVariable(String raw) {
    String name = variable(INDEXES.matcher(raw).replaceFirst(""));
    if (!name.startsWith(variable(LimiterConfiguration.PREFIX) + '_')
        || KNOWN.stream().anyMatch(setting -> variable(setting).equals(name))
        || LimitKeys.FREE.stream().anyMatch(prefix -> name.startsWith(variable(prefix) + '_'))
        || ModuleSettings.prefixes().stream()
            .anyMatch(prefix -> name.startsWith(variable(prefix) + '_'))
        || isOfAService(name)
        || isOfOthers(name)
        || !warned.add(raw)) {
      return;
    }
    if (name.startsWith(variable(TemplateConfiguration.PREFIX) + '_')) {
      LOG.warn(
          "The environment variable {} has no effect: the name of a variable cannot contain the names under {}. Write the setting into a file; its value may be a placeholder",
          raw,
          TemplateConfiguration.PREFIX);
    } else {
      LOG.warn(
          "The environment variable {} has no effect: there is no such setting{}",
          raw,
          ModuleSettings.absence(prefix -> name.startsWith(variable(prefix) + '_'))
              .or(
                  () ->
                      nearest(KNOWN.stream().map(UnknownSettings::variable), name)
                          .map(setting -> "; did you mean " + setting + '?'))
              .orElse(""));
    }
  }

  /** Whether Kubernetes sets a variable of this name for a service. */
  static boolean isOfAService(String variable) {
    return KUBERNETES.matcher(variable).matches();
  }

  private static boolean isOurs(String name) {
    return LimitKeys.isUnder(LimiterConfiguration.PREFIX, name);
  }

  /** Compares exactly, as those names are read. */
  private static boolean isFree(String raw) {
    return LimitKeys.isFree(raw) || LimitKeys.isUnder(TemplateConfiguration.PREFIX, raw);
  }

  private static boolean isKnown(String name) {
    return KNOWN.contains(name) || KNOWN.contains(INDEXES.matcher(name).replaceFirst(""));
  }

  private static boolean isEmpty(@Nullable Object value) {
    return value == null
        || (value instanceof CharSequence text && text.toString().isBlank())
        || (value instanceof Map<?, ?> map && map.isEmpty())
        || (value instanceof Collection<?> items && items.isEmpty());
  }

  /** Whether this is a group of settings, such as {@code limiter.redis}. */
  private static boolean isGroup(String name) {
    return KNOWN.stream().anyMatch(setting -> setting.startsWith(name + '.'));
  }

  /** The name of the environment variable that sets this. */
  static String variable(String name) {
    return NO_LETTER_OF_VARIABLES.matcher(name.toUpperCase(Locale.ROOT)).replaceAll("_");
  }

  /** Whether a variable, or a system property spelled as one, is meant for something else. */
  private boolean isOfOthers(String variable) {
    return TESTS.matcher(variable).matches() || placeholders().contains(variable);
  }

  /** The names that placeholders in values read, spelled as environment variables. */
  private Set<String> placeholders() {
    Set<String> read = new HashSet<>();
    for (PropertySource source : sources) {
      for (String name : source) {
        collect(source.get(name), read);
      }
    }
    return read;
  }

  private static void collect(@Nullable Object value, Set<String> read) {
    if (value instanceof Map<?, ?> map) {
      map.values().forEach(inner -> collect(inner, read));
    } else if (value instanceof Collection<?> items) {
      items.forEach(item -> collect(item, read));
    } else if (value instanceof CharSequence text) {
      Matcher placeholder = PLACEHOLDER.matcher(text);
      while (placeholder.find()) {
        read.add(variable(placeholder.group(1)));
      }
    }
  }

  private static String advice(String raw) {
    String name = NameUtils.hyphenate(raw, true);
    Optional<String> absent = ModuleSettings.absence(prefix -> LimitKeys.isUnder(prefix, name));
    if (absent.isPresent()) {
      return absent.get();
    }
    if (isGroup(name)) {
      Predicate<String> inGroup = setting -> setting.startsWith(name + '.');
      String example =
          KNOWN.contains(name + ".enabled")
              ? name + ".enabled"
              : KNOWN.stream().filter(inGroup).sorted().findFirst().orElseThrow();
      return "; it is the prefix of settings such as " + example;
    }
    return Stream.concat(
            like(raw).stream(),
            nearest(Stream.concat(KNOWN.stream(), ELSEWHERE.stream()), raw).stream())
        .findFirst()
        .map(setting -> "; did you mean " + setting + '?')
        .orElse("; a setting of the application itself needs another prefix than limiter");
  }

  /** The name corrected to a prefix under which the application chooses the names. */
  private static Optional<String> like(String raw) {
    String[] parts = raw.split("\\.");
    for (String prefix : NAMED) {
      int length = prefix.split("\\.").length;
      if (parts.length > length) {
        String own = String.join(".", List.of(parts).subList(0, length));
        if (NearestNames.changes(prefix, own) <= NearestNames.MOST_CHANGES) {
          return Optional.of(prefix + raw.substring(own.length()));
        }
      }
    }
    return Optional.empty();
  }

  /**
   * The nearest of the settings that differ in a few letters, end like the name, or are its
   * beginning.
   */
  private static Optional<String> nearest(Stream<String> settings, String raw) {
    String name = NameUtils.hyphenate(raw, true);
    int most =
        Math.max(
            NearestNames.MOST_CHANGES, (name.length() - LimiterConfiguration.PREFIX.length()) / 4);
    ToIntFunction<String> changes =
        setting -> NearestNames.changes(NameUtils.hyphenate(setting, true), name);
    return settings
        .filter(
            setting ->
                changes.applyAsInt(setting) <= most
                    || last(setting).equals(last(name))
                    || name.startsWith(setting + '.'))
        .min(Comparator.comparingInt(changes).thenComparing(Comparator.naturalOrder()));
  }

  private static String last(String name) {
    return name.substring(name.lastIndexOf('.') + 1);
  }
}
