// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.core.annotation.Internal;
import java.util.concurrent.CompletionStage;

/** Changes the settings that all instances share. */
@Internal
public interface SettingsShare {

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
