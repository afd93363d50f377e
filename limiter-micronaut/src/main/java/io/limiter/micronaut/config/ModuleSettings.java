// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.core.reflect.ClassUtils;
import io.micronaut.core.value.PropertyResolver;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The settings that optional modules read. This is the only place that names such a module: a
 * setting without its module has no effect, and its message names the dependency.
 */
final class ModuleSettings {

  private static final Logger LOG = LoggerFactory.getLogger(ModuleSettings.class);

  /**
   * A module.
   *
   * @param prefix of its settings
   * @param artifact its name
   * @param isThere whether it is on the class path
   * @param switches its settings that are true or false
   * @param others its other settings. They are checked as those of the limiter are; a module that
   *     has neither here checks all that are under its prefix itself
   */
  private record Module(
      String prefix, String artifact, boolean isThere, Set<String> switches, Set<String> others) {

    boolean checksItself() {
      return switches.isEmpty() && others.isEmpty();
    }
  }

  private static final Module KEYS =
      new Module(
          "limiter.idempotency",
          "limiter-idempotency",
          isThere("io.limiter.idempotency.Idempotent"),
          Set.of(),
          Set.of());

  private static final Module CLIENTS =
      new Module(
          "limiter.client",
          "limiter-client",
          isThere("io.limiter.client.ObeyRateLimits"),
          Set.of(),
          Set.of());

  private static final Module ENDPOINT =
      new Module(
          "limiter.management",
          "limiter-management",
          isThere("io.limiter.management.LimitOverrides"),
          Set.of("limiter.management.show-subjects"),
          Set.of());

  private static final Module OVERRIDES =
      new Module(
          "limiter.overrides",
          ENDPOINT.artifact(),
          ENDPOINT.isThere(),
          Set.of("limiter.overrides.enabled"),
          Set.of("limiter.overrides.interval"));

  private static final Module OVERLOAD =
      new Module(
          "limiter.overload",
          "limiter-overload",
          isThere("io.limiter.overload.Criticality"),
          Set.of(),
          Set.of());

  private static final List<Module> ALL = List.of(KEYS, CLIENTS, ENDPOINT, OVERRIDES, OVERLOAD);

  /** Their endpoints, by the settings of Micronaut that enable them. */
  private static final Map<String, Module> ENDPOINTS =
      Map.of("endpoints.limits.enabled", ENDPOINT, "endpoints.idempotency.enabled", KEYS);

  /** The members of a policy that users may expect, and that {@link #KEYS} has in their place. */
  private static final Pattern OF_KEYS =
      Pattern.compile(
          Pattern.quote(PoliciesConfiguration.PREFIX)
              + "\\..+\\.duplicate\\.(replay|max-wait|charge-repetitions|require-idempotency-key)");

  private static final Pattern BY =
      Pattern.compile(Pattern.quote(PoliciesConfiguration.PREFIX) + "\\..+\\.duplicate\\.by");

  private static final Pattern BY_KEY = Pattern.compile("(?i)\\s*idempotency[-_]key\\s*");

  private ModuleSettings() {}

  private static boolean isThere(String type) {
    return ClassUtils.isPresent(type, ModuleSettings.class.getClassLoader());
  }

  /** The prefixes of the modules that are there and check all that is under them. */
  static List<String> prefixes() {
    return ALL.stream()
        .filter(module -> module.checksItself() && module.isThere())
        .map(Module::prefix)
        .toList();
  }

  /** Whether a module that is there checks this setting. */
  static boolean areThereFor(String name) {
    return ALL.stream()
        .anyMatch(
            module ->
                LimitKeys.isUnder(module.prefix(), name)
                    && module.checksItself()
                    && module.isThere());
  }

  /** The settings that are true or false, of the modules that are there. */
  static Stream<String> switches() {
    return ofModules(Module::switches);
  }

  /** Their other settings. */
  static Stream<String> others() {
    return ofModules(Module::others);
  }

  private static Stream<String> ofModules(Function<Module, Set<String>> some) {
    return ALL.stream().filter(Module::isThere).flatMap(module -> some.apply(module).stream());
  }

  /**
   * What to add to a message about a setting that does not exist; empty if no absent module has it.
   *
   * @param has whether a setting is under a prefix
   */
  static Optional<String> absence(Predicate<String> has) {
    return ALL.stream()
        .filter(module -> has.test(module.prefix()) && !module.isThere())
        .findFirst()
        .map(
            module ->
                " without the module %s: add the dependency io.limiter:%s, or remove the setting"
                    .formatted(module.artifact(), module.artifact()));
  }

  /**
   * Warns of endpoints that are enabled without their module. It is no mistake: the application may
   * have an endpoint of this name.
   */
  static void warnOfEndpoints(PropertyResolver settings) {
    ENDPOINTS.forEach(
        (enabled, module) -> {
          if (settings.getProperty(enabled, Boolean.class, false) && !module.isThere()) {
            LOG.warn(
                "{} is true, but the endpoint of the limiter is in the module {}: add the dependency io.limiter:{}, unless the application has an endpoint of this name",
                enabled,
                module.artifact(),
                module.artifact());
          }
        });
  }

  /** The remedy for a member of a policy that a module has in its place; empty for all others. */
  static Optional<String> successor(String path, Object value) {
    return OF_KEYS.matcher(path).matches()
            || (BY.matcher(path).matches() && BY_KEY.matcher(value.toString()).matches())
        ? Optional.of(
            "no policy compares submissions by their Idempotency-Key: remove it, and write %s.routes, which the module %s reads"
                .formatted(KEYS.prefix(), KEYS.artifact()))
        : Optional.empty();
  }
}
