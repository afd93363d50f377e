// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

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

  /** No settings. */
  public static final LimitSettings NONE =
      new LimitSettings(
          Map.of(),
          List.of(),
          new TierSettings(Optional.empty(), Map.of()),
          Optional.empty(),
          Optional.empty());

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
}
