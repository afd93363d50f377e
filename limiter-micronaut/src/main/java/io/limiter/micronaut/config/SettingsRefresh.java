// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.core.annotation.Internal;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/** Changes the settings that are in use. */
@Internal
public interface SettingsRefresh {

  /**
   * Reads all settings once more, together with these, and uses them if they make sense. It blocks.
   *
   * @param shared settings that all instances share, by their names under {@code limiter.policies}
   * @return whether they are in use now; otherwise the mistake was logged
   */
  boolean refresh(Map<String, String> shared);

  /** The same with the shared settings that are in use. */
  boolean refresh();

  /**
   * The same with a setting of this instance alone, which takes precedence over all others until
   * the instance stops.
   *
   * @param name its name under {@code limiter.policies}
   */
  boolean set(String name, String value);

  /** Changes the settings that all instances share. */
  interface SettingsShare {

    /** Whether instances share settings. If not, nothing would read what is set. */
    boolean isShared();

    /**
     * Sets a setting for all instances. It does not block.
     *
     * @param name its name under {@code limiter.policies}
     * @return whether this instance uses it now; otherwise the mistake was logged. Fails with a
     *     {@link io.limiter.core.StoreException} if it could not be stored
     */
    CompletionStage<Boolean> set(String name, String value);
  }
}
