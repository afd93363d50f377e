// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.core.annotation.Internal;

/**
 * Receives each call that gate or guard denies. Runs on the thread that denies it, often an event
 * loop: it must not block or throw.
 */
@Internal
public interface DenialListener {

  /**
   * A call is denied: its method is not entered.
   *
   * @param asked what the store was asked, which names the subjects
   */
  void denied(LimitPlan plan, LimitRequest asked, Verdict verdict);
}
