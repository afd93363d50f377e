// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.resilience.Fallback;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the configuration says about limits at one moment.
 *
 * @param policies the settings of policies, by name
 * @param routes the limits on paths, in their order
 * @param tiers the rules of tiers
 * @param exempt the callers without limits; empty if there are none
 * @param block the callers whose requests are rejected; empty if there are none
 */
@Internal
public record LimitSettings(
    Map<String, PolicySettings> policies,
    List<RouteSettings> routes,
    TierSettings tiers,
    Optional<ExemptConfiguration> exempt,
    Optional<BlockConfiguration> block) {

  public LimitSettings {
    policies = Map.copyOf(policies);
    routes = List.copyOf(routes);
  }

  /** The deadlines of policies with their own setting, by name. */
  Map<String, Duration> deadlines() {
    Map<String, Duration> deadlines = new TreeMap<>();
    policies.forEach(
        (policy, settings) ->
            settings.deadline().ifPresent(deadline -> deadlines.put(policy, deadline)));
    return deadlines;
  }

  /** The fallbacks of policies with their own setting, by name. */
  Map<String, Fallback> fallbacks() {
    Map<String, Fallback> fallbacks = new HashMap<>();
    policies.forEach(
        (policy, settings) ->
            settings.fallback().ifPresent(fallback -> fallbacks.put(policy, fallback)));
    return fallbacks;
  }

  /**
   * A limit on paths, as {@code limiter.routes} has it.
   *
   * @param path an Ant pattern, such as {@code /api/**}
   * @param methods the names of HTTP methods in capitals; empty for all
   * @param policy the policy that limits the paths
   */
  public record RouteSettings(WrittenSetting path, Set<String> methods, WrittenSetting policy) {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".routes";

    static final List<String> MEMBERS = List.of("path", "methods", "policy");

    private static final Set<String> METHODS =
        Set.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT");

    /**
     * @param members the settings of one route, by name; not empty
     */
    static RouteSettings of(Map<String, WrittenSetting> members) {
      WrittenSetting path = required(members, "path");
      if (!path.value().startsWith("/")) {
        throw path.mistake("a path begins with a slash: write one such as /api/**");
      }
      return new RouteSettings(path, methods(members.get("methods")), required(members, "policy"));
    }

    private static WrittenSetting required(Map<String, WrittenSetting> members, String member) {
      WrittenSetting setting = members.get(member);
      if (setting == null || setting.value().isBlank()) {
        throw members
            .values()
            .iterator()
            .next()
            .mistake(
                "this route has no %s: write path, policy and, if it limits only some, methods"
                    .formatted(member));
      }
      return setting;
    }

    private static Set<String> methods(@Nullable WrittenSetting written) {
      if (written == null) {
        return Set.of();
      }
      Set<String> methods =
          Arrays.stream(written.value().split(","))
              .map(method -> method.strip().toUpperCase(Locale.ROOT))
              .filter(method -> !method.isEmpty())
              .collect(Collectors.toCollection(TreeSet::new));
      if (methods.isEmpty() || !METHODS.containsAll(methods)) {
        throw written.mistake(
            "give it some of %s, or leave it out to limit all"
                .formatted(String.join(", ", new TreeSet<>(METHODS))));
      }
      if (methods.contains("GET")) { // a HEAD request is answered by the method for GET
        methods.add("HEAD");
      }
      return methods;
    }
  }
}
