// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.core.annotation.Internal;
import java.util.List;
import java.util.Optional;

/** The keys of settings in which the application chooses names. */
@Internal
public final class LimitKeys {

  /** Prefix of the rules of tiers. */
  public static final String TIERS = LimiterConfiguration.PREFIX + ".tiers";

  /** Prefix of the limits on paths. */
  public static final String ROUTES = LimiterConfiguration.PREFIX + ".routes";

  static final int MAX_TIERS = 32;

  /** Prefixes under which the application chooses names. */
  static final List<String> FREE = List.of(PoliciesConfiguration.PREFIX, TIERS, ROUTES);

  /** The settings of a limit on paths. */
  static final List<String> ROUTE_MEMBERS = List.of("path", "except", "methods", "policy");

  private LimitKeys() {}

  /** Whether a key is under one of these prefixes. */
  static boolean isFree(String key) {
    for (String prefix : FREE) { // no stream, since there may be thousands of keys
      if (isUnder(prefix, key)) {
        return true;
      }
    }
    return false;
  }

  static boolean isUnder(String prefix, String key) {
    return key.startsWith(prefix)
        && (key.length() == prefix.length() || ".[".indexOf(key.charAt(prefix.length())) >= 0);
  }

  /** Where a policy has its settings, in a tier or for all callers. */
  static String place(Optional<String> tier, String policy) {
    return tier.map(name -> TIERS + '.' + name).orElse(PoliciesConfiguration.PREFIX) + '.' + policy;
  }
}
