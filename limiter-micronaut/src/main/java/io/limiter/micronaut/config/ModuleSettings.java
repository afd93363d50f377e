// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.core.reflect.ClassUtils;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * The settings that optional modules read. This is the only place that names such a module: a
 * setting without its module has no effect, and its message names the dependency.
 */
final class ModuleSettings {

  /**
   * A module.
   *
   * @param prefix of its settings, which it checks itself
   * @param artifact its name
   * @param type a class of it
   */
  private record Module(String prefix, String artifact, String type) {

    boolean isThere() {
      return ClassUtils.isPresent(type, ModuleSettings.class.getClassLoader());
    }
  }

  private static final Module KEYS =
      new Module(
          LimiterConfiguration.PREFIX + ".idempotency",
          "limiter-idempotency",
          "io.limiter.idempotency.Idempotent");

  private static final Module CLIENTS =
      new Module(
          LimiterConfiguration.PREFIX + ".client",
          "limiter-client",
          "io.limiter.client.ObeyRateLimits");

  private static final List<Module> ALL = List.of(KEYS, CLIENTS);

  /** The members of a policy that users may expect, and that {@link #KEYS} has in their place. */
  private static final Pattern OF_KEYS =
      Pattern.compile(
          Pattern.quote(PoliciesConfiguration.PREFIX)
              + "\\..+\\.duplicate\\.(replay|max-wait|charge-repetitions|require-idempotency-key)");

  private static final Pattern BY =
      Pattern.compile(Pattern.quote(PoliciesConfiguration.PREFIX) + "\\..+\\.duplicate\\.by");

  private static final Pattern BY_KEY = Pattern.compile("(?i)\\s*idempotency[-_]key\\s*");

  private ModuleSettings() {}

  /** The prefixes of the modules that are there. */
  static List<String> prefixes() {
    return ALL.stream().filter(Module::isThere).map(Module::prefix).toList();
  }

  /** Whether a module that is there reads this setting. */
  static boolean areThereFor(String name) {
    return ALL.stream()
        .anyMatch(module -> LimitSettings.isUnder(module.prefix(), name) && module.isThere());
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
