// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.core.annotation.Internal;

/** Receives changes of the plans, such as those of refreshed settings. Found as a bean. */
@Internal
public interface PlanListener {

  /**
   * Other plans decide calls from now on. Runs on the thread that has refreshed the settings, and
   * must not throw.
   */
  void changed(PlanGeneration before, PlanGeneration now);
}
