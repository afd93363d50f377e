// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Policy;
import java.util.Map;

/**
 * The fallback of each policy. A request of several policies uses the fallback of the policy of its
 * verdict. Asked for each decision, by any thread, so that settings may change.
 */
@FunctionalInterface
public interface FallbackPolicies {

  /** Returns the fallback of this policy. */
  Fallback of(Policy policy);

  /** Returns the same fallback for all policies. */
  static FallbackPolicies of(Fallback fallback) {
    return policy -> fallback;
  }

  /**
   * Returns fallbacks that do not change.
   *
   * @param usual for policies without an entry
   * @param byPolicy by the policy's name
   */
  static FallbackPolicies of(Fallback usual, Map<String, Fallback> byPolicy) {
    Map<String, Fallback> all = Map.copyOf(byPolicy);
    return policy -> all.getOrDefault(policy.name(), usual);
  }
}
