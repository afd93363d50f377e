// SPDX-License-Identifier: Apache-2.0
package io.limiter.disabled.management;

import io.limiter.management.LimitOverrides;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;

/** Provides overrides that have no effect. */
@Factory
final class DisabledOverrides {

  @Singleton
  @Requires(property = "limiter.overrides.enabled", pattern = "(?i)true|on|yes")
  LimitOverrides overrides() {
    return LimitOverrides.unused();
  }
}
