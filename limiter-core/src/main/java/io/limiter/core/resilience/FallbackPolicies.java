// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Policy;
import java.util.Map;

/**
 * The fallback of each policy. A request of several policies uses the fallback of the policy of its
 * verdict.
 *
 * @param usual for policies without an entry
 * @param byPolicy by the policy's name
 */
public record FallbackPolicies(Fallback usual, Map<String, Fallback> byPolicy) {

  public FallbackPolicies {
    byPolicy = Map.copyOf(byPolicy);
  }

  /** Returns the same fallback for all policies. */
  public static FallbackPolicies of(Fallback fallback) {
    return new FallbackPolicies(fallback, Map.of());
  }

  /** Returns the fallback of this policy. */
  public Fallback of(Policy policy) {
    Fallback own = byPolicy.get(policy.name());
    return own == null ? usual : own;
  }
}
