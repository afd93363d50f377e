// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.order.Ordered;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;

/** Changes the settings that are in use. */
@Internal
public interface SettingsRefresh {

  /**
   * The order in which the start checks the settings of the files. Shared ones are used next, and
   * only then other listeners run: they may call limited methods.
   */
  int CHECK_ORDER = Ordered.HIGHEST_PRECEDENCE + 100;

  /**
   * Uses these with the settings that were read last, if they are valid. Blocks.
   *
   * @param shared settings that all instances share, by their names under {@code limiter.policies}
   * @return the mistake, which was logged; empty if they are in use now
   */
  Optional<String> refresh(Map<String, String> shared);

  /** Reads all settings again, and uses them with the shared ones that are in use. */
  Optional<String> refresh();

  /**
   * Like {@link #refresh(Map)}, but with a setting of this instance alone, which takes precedence
   * over all others until the instance stops.
   *
   * @param name its name under {@code limiter.policies}
   */
  Optional<String> set(String name, String value);

  /** Changes the settings that all instances share. */
  interface SettingsShare {

    /** Whether instances share settings. If not, {@link #set} has no effect. */
    boolean isShared();

    /**
     * Sets a setting for all instances. It does not block.
     *
     * @param name its name under {@code limiter.policies}
     * @return why this instance does not use it; empty if it does. Fails with a {@link
     *     io.limiter.core.StoreException} if it could not be stored
     */
    CompletionStage<Optional<String>> set(String name, String value);

    /** The state after the last attempt to read them. */
    ShareState status();

    /**
     * What is known of the shared settings.
     *
     * @param version that in use; empty if this instance uses the settings of its files
     * @param lastRead empty if none was successful
     * @param problem why they cannot be read, or why those of Redis are not in use
     */
    record ShareState(OptionalLong version, Optional<Instant> lastRead, Optional<String> problem) {}
  }
}
