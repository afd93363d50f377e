// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Policy;
import java.util.Map;

/**
 * Which fallback decides under which policy. A request of several policies has that of the one its
 * verdict bears.
 *
 * @param usual for policies that are not named
 * @param byPolicy by the policy's name
 */
public record FallbackPolicies(Fallback usual, Map<String, Fallback> byPolicy) {

  public FallbackPolicies {
    byPolicy = Map.copyOf(byPolicy);
  }

  /** One for all policies. */
  public static FallbackPolicies of(Fallback fallback) {
    return new FallbackPolicies(fallback, Map.of());
  }

  /** The fallback under this policy. */
  public Fallback of(Policy policy) {
    Fallback own = byPolicy.get(policy.name());
    return own == null ? usual : own;
  }
}
