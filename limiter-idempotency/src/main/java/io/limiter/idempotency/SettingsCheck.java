// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.util.NearestNames;
import io.limiter.idempotency.IdempotencyConfiguration.EncryptionConfiguration;
import io.limiter.idempotency.IdempotencyConfiguration.RouteSettings;
import io.limiter.micronaut.config.Bounds;
import io.limiter.micronaut.definition.Origin;
import io.micronaut.context.annotation.Prototype;
import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.context.env.SystemPropertiesPropertySource;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.naming.NameUtils;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the list of routes under {@code limiter.idempotency}, and finds names that no setting there
 * has. In a file, on the command line or in a map from code such a name stops the start; an
 * environment variable or a system property may be meant for something else, and is a warning.
 *
 * <p>As with {@code limiter.routes}, the list of the source of the highest precedence is used as a
 * whole, and variables change single members. Micronaut itself would not read lists from variables.
 */
@Prototype // read once, for the settings
final class SettingsCheck {

  private static final Logger LOG = LoggerFactory.getLogger(SettingsCheck.class);

  private static final String PREFIX = IdempotencyConfiguration.PREFIX;
  private static final String ANONYMOUS = PREFIX + ".anonymous-by-address";
  private static final String ROUTES = PREFIX + ".routes";

  /** All settings with fixed names; a test compares them with those that the beans bind. */
  static final Set<String> KNOWN =
      Set.of(
          "anonymous-by-address",
          "client-methods",
          "encryption.current",
          "encryption.keys",
          "fallback",
          "longest-run",
          "max-answer",
          "max-body",
          "max-bytes",
          "max-bytes-in-redis",
          "max-bytes-of-subject",
          "max-entries",
          "max-pending-bytes",
          "max-waiting",
          "max-waiting-of-subject",
          "problem-type",
          "without-headers");

  private static final List<String> MEMBERS =
      List.of(
          "path",
          "methods",
          "retain",
          "claim",
          "max-wait",
          "required",
          "charge-repetitions",
          "header",
          "resolver");

  private static final Pattern MEMBER =
      Pattern.compile(Pattern.quote(ROUTES) + "\\[(\\d{1,4})]\\.([a-z-]+)((\\[\\d+])?)");

  private static final Pattern INDEXES = Pattern.compile("\\[\\d+]$");
  private static final Pattern NO_LETTER_OF_VARIABLES = Pattern.compile("[^A-Z0-9]");

  private static final Pattern VARIABLE =
      Pattern.compile(Pattern.quote(variable(ROUTES)) + "_(\\d{1,4})_([A-Z_]+)");

  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS");

  private static final Set<String> TRUE = Set.of("true", "yes", "on", "y");
  private static final Set<String> FALSE = Set.of("false", "no", "off", "n");

  /** By index; each by the names of members. */
  private final Map<Integer, Map<String, Origin>> routes = new TreeMap<>();

  private final List<String> mistakes = new ArrayList<>();
  private final Environment environment;

  SettingsCheck(Environment environment) {
    this.environment = environment;
  }

  /**
   * The routes by path, in their order.
   *
   * @throws ConfigurationException naming all settings that do not exist, or the one that is
   *     invalid
   */
  List<RouteSettings> routes() {
    environment.getPropertySources().stream()
        .sorted(Comparator.comparingInt(PropertySource::getOrder))
        .forEach(this::read);
    if (!mistakes.isEmpty()) {
      throw new ConfigurationException(String.join("\n", mistakes));
    }
    // Micronaut reads a mistyped true as false.
    environment
        .getProperty(ANONYMOUS, String.class)
        .ifPresent(word -> isOn(new Origin(ANONYMOUS, word, ""), false));
    Bounds.requireReadable(environment, PREFIX + ".longest-run", Duration.class);
    KNOWN.stream()
        .filter(name -> name.startsWith("max-"))
        .forEach(
            name ->
                Bounds.requireReadable(
                    environment,
                    PREFIX + '.' + name,
                    name.contains("bytes") ? Long.class : Integer.class));
    List<RouteSettings> all = new ArrayList<>();
    routes.values().forEach(members -> all.add(route(members)));
    requireDistinct(all);
    return all;
  }

  private void read(PropertySource source) {
    boolean ofVariables = source.getConvention() == PropertyConvention.ENVIRONMENT_VARIABLE;
    Map<Integer, Map<String, Origin>> own = new TreeMap<>();
    for (String name : source) {
      if (!name.regionMatches(true, 0, PREFIX, 0, "limiter".length())) {
        continue; // nearly all
      }
      if (ofVariables) {
        readVariable(name, source);
      } else {
        read(name, source.get(name), source, own);
      }
    }
    if (!own.isEmpty()) {
      routes.clear();
      routes.putAll(own);
    }
  }

  private void readVariable(String name, PropertySource source) {
    if (!name.startsWith(variable(PREFIX) + '_')
        || name.startsWith(variable(EncryptionConfiguration.KEYS) + '_')
        || KNOWN.stream().anyMatch(known -> name.equals(variable(PREFIX + '.' + known)))) {
      return;
    }
    Matcher route = VARIABLE.matcher(name);
    if (route.matches()) {
      String member = route.group(2).toLowerCase(Locale.ROOT).replace('_', '-');
      if (MEMBERS.contains(member)) {
        routes
            .computeIfAbsent(Integer.valueOf(route.group(1)), any -> new HashMap<>())
            .put(member, origin(name, source.get(name), source));
        return;
      }
    }
    LOG.warn(
        "The environment variable {} has no effect: there is no such setting{}",
        name,
        advice(name.substring(variable(PREFIX).length() + 1).toLowerCase(Locale.ROOT)));
  }

  /** A file has a property for each leaf; a map from code may contain maps and lists. */
  private void read(
      String raw,
      @Nullable Object value,
      PropertySource source,
      Map<Integer, Map<String, Origin>> own) {
    String name = NameUtils.hyphenate(raw, true);
    boolean isGroup = PREFIX.equals(name) || PREFIX.startsWith(name + '.');
    if (!isGroup && !name.startsWith(PREFIX + '.')) {
      return;
    }
    if (value instanceof Map<?, ?> map
        && !name.equals(EncryptionConfiguration.KEYS)
        && !map.isEmpty()) {
      map.forEach((inner, deeper) -> read(raw + '.' + inner, deeper, source, own));
    } else if (name.equals(ROUTES) && value instanceof List<?> list) {
      for (int i = 0; i < list.size(); i++) {
        read("%s[%s]".formatted(raw, i), list.get(i), source, own);
      }
    } else {
      Matcher member = MEMBER.matcher(name);
      if (member.matches() && MEMBERS.contains(member.group(2))) {
        own.computeIfAbsent(Integer.valueOf(member.group(1)), any -> new HashMap<>())
            .merge(
                member.group(2),
                origin(name, value, source),
                (one, other) ->
                    new Origin(one.key(), one.value() + ',' + other.value(), one.source()));
      } else if (!isGroup && !isKnown(name)) {
        unknown(raw, name, source);
      }
    }
  }

  private static boolean isKnown(String name) {
    String own = INDEXES.matcher(name.substring(PREFIX.length() + 1)).replaceFirst("");
    return KNOWN.contains(own)
        || own.equals("encryption")
        || own.equals("routes")
        || own.startsWith("encryption.keys.");
  }

  private void unknown(String raw, String name, PropertySource source) {
    String advice = advice(name.substring(PREFIX.length() + 1));
    if (source.getName().equals(SystemPropertiesPropertySource.NAME)) {
      LOG.warn("The system property {} has no effect: there is no such setting{}", raw, advice);
      return;
    }
    String where = source.getOrigin().location();
    mistakes.add(
        (where.equals(PropertySource.CONTEXT) ? raw : raw + " in " + where)
            + ": there is no such setting"
            + advice);
  }

  private static String advice(String own) {
    if (own.startsWith("routes")) {
      return ". A route has " + String.join(", ", MEMBERS);
    }
    String name = own.replace('_', '-');
    return KNOWN.stream()
        .min(Comparator.comparingInt(known -> NearestNames.changes(known, name)))
        .filter(known -> NearestNames.changes(known, name) <= NearestNames.MOST_CHANGES)
        .map(known -> "; did you mean %s.%s?".formatted(PREFIX, known))
        .orElse("; those of %s are %s".formatted(PREFIX, String.join(", ", new TreeSet<>(KNOWN))));
  }

  private Origin origin(String key, @Nullable Object value, PropertySource source) {
    String text =
        value instanceof Collection<?> items
            ? String.join(",", items.stream().map(String::valueOf).toList())
            : value == null ? "" : value.toString();
    try {
      return new Origin(
          key,
          environment.getPlaceholderResolver().resolveRequiredPlaceholders(text).strip(),
          source.getOrigin().location());
    } catch (ConfigurationException unresolved) {
      throw new ConfigurationException(
          "%s = %s: %s: set it, or add a default, as in ${name:default}"
              .formatted(key, text, unresolved.getMessage()),
          unresolved);
    }
  }

  private RouteSettings route(Map<String, Origin> members) {
    Origin path = members.get("path");
    if (path == null || path.value().isEmpty()) {
      throw members
          .values()
          .iterator()
          .next()
          .mistake("this route has no path: write one such as /payments, or /api/**");
    }
    Bounds.pathRemedy(path.value())
        .ifPresent(
            remedy -> {
              throw path.mistake(remedy);
            });
    Origin header = members.get("header");
    Origin resolver = members.get("resolver");
    if (header != null && resolver != null) {
      throw resolver.mistake("a route has header or resolver: remove one of them");
    }
    if (header != null && !header.value().matches(Terms.FIELD_NAME)) {
      throw header.mistake("write the name of a header field, such as X-Client-Id");
    }
    if (resolver != null && resolver.value().isEmpty()) {
      throw resolver.mistake("write the name of a bean, or remove it");
    }
    Origin retain = members.get("retain");
    return new RouteSettings(
        path.value(),
        methods(members.get("methods")),
        retain != null && retain.value().isEmpty()
            ? null
            : time(retain, Terms.RETAIN, Terms.MIN_RETAIN, Terms.MAX_RETAIN, "1 s to 366 days"),
        time(members.get("claim"), Terms.CLAIM, Terms.MIN_CLAIM, Terms.MAX_CLAIM, "1 s to 10 min"),
        time(
            members.get("max-wait"),
            Terms.MAX_WAIT,
            Duration.ZERO,
            Terms.LONGEST_WAIT,
            "0 s to 30 s"),
        isOn(members.get("required"), true),
        isOn(members.get("charge-repetitions"), false),
        Optional.ofNullable(header).map(Origin::value),
        Optional.ofNullable(resolver).map(Origin::value));
  }

  private static Set<String> methods(@Nullable Origin written) {
    if (written == null) {
      return Set.of("POST", "PATCH");
    }
    Set<String> methods = new TreeSet<>();
    for (String method : written.value().split(",")) {
      methods.add(method.strip().toUpperCase(Locale.ROOT));
    }
    if (!METHODS.containsAll(methods)) {
      throw written.mistake(
          "use some of %s, or leave it out for POST and PATCH"
              .formatted(String.join(", ", new TreeSet<>(METHODS))));
    }
    return Set.copyOf(methods);
  }

  private Duration time(
      @Nullable Origin written, Duration usual, Duration least, Duration most, String range) {
    if (written == null) {
      return usual;
    }
    Duration time =
        ConversionService.SHARED
            .convert(written.value(), Duration.class)
            .orElseThrow(
                () -> written.mistake("it is no time: write one such as 30s, of " + range));
    if (time.compareTo(least) < 0 || time.compareTo(most) > 0) {
      throw written.mistake("use " + range);
    }
    return time;
  }

  private static boolean isOn(@Nullable Origin written, boolean usual) {
    if (written == null) {
      return usual;
    }
    String word = written.value().toLowerCase(Locale.ROOT);
    if (!TRUE.contains(word) && !FALSE.contains(word)) {
      throw written.mistake("set it to true or false");
    }
    return TRUE.contains(word);
  }

  /** The first of two routes with one path would hide the other. */
  private void requireDistinct(List<RouteSettings> all) {
    List<Map<String, Origin>> written = List.copyOf(routes.values());
    for (int i = 1; i < all.size(); i++) {
      for (int before = 0; before < i; before++) {
        Set<String> both = new TreeSet<>(all.get(i).methods());
        both.retainAll(all.get(before).methods());
        if (all.get(i).path().equals(all.get(before).path()) && !both.isEmpty()) {
          throw Optional.ofNullable(written.get(i).get("path"))
              .orElseThrow()
              .mistake(
                  "a route before it has this path too, for %s: write one route, or other methods"
                      .formatted(String.join(", ", both)));
        }
      }
    }
  }

  /** The name of the environment variable that sets this. */
  private static String variable(String name) {
    return NO_LETTER_OF_VARIABLES.matcher(name.toUpperCase(Locale.ROOT)).replaceAll("_");
  }
}
