// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.limiter.core.Policy;
import java.time.Duration;
import java.util.Map;

/** The deadlines of policies with one of their own. They may change while a store uses them. */
public final class PolicyDeadlines {

  private volatile Map<String, Duration> deadlines;

  /**
   * @param deadlines by the names of policies, each 1 ms to 10 s
   * @throws IllegalArgumentException naming the policy whose deadline is not usable
   */
  public PolicyDeadlines(Map<String, Duration> deadlines) {
    this.deadlines = usable(deadlines);
  }

  /**
   * Uses other deadlines for decisions that begin from now on.
   *
   * @throws IllegalArgumentException naming the policy whose deadline is not usable; then nothing
   *     changes
   */
  public void use(Map<String, Duration> others) {
    deadlines = usable(others);
  }

  private static Map<String, Duration> usable(Map<String, Duration> deadlines) {
    deadlines.forEach(
        (policy, own) ->
            RedisSettings.requireDeadline("Redis deadline of the policy '" + policy + "',", own));
    return Map.copyOf(deadlines);
  }

  Duration of(Policy policy, Duration usual) {
    return deadlines.getOrDefault(policy.name(), usual);
  }

  Duration longest(Duration usual) {
    return deadlines.values().stream().reduce(usual, (a, b) -> a.compareTo(b) > 0 ? a : b);
  }
}
