// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.version.SemanticVersion;
import io.micronaut.core.version.VersionUtils;
import jakarta.inject.Inject;
import org.jspecify.annotations.Nullable;

/**
 * Stops the start with a Micronaut that is too old. It would miss classes at the first request
 * only, and answer each limited request with 500.
 */
@Context
final class RequiredMicronaut {

  private static final String LEAST = "4.10.0";

  @Inject
  RequiredMicronaut() {
    this(VersionUtils.getMicronautVersion());
  }

  /**
   * @param version null if it is not known
   */
  RequiredMicronaut(@Nullable String version) {
    if (version != null && !SemanticVersion.isAtLeast(version, LEAST)) {
      throw new ConfigurationException(
          "Micronaut %s is too old for this limiter: use %s or later, as the version of micronaut-parent or of the platform"
              .formatted(version, LEAST));
    }
  }
}
