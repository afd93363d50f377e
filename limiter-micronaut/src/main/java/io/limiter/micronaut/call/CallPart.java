// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.order.Ordered;
import org.jspecify.annotations.Nullable;

/**
 * What calls hold beside their charges, such as permits. {@link AdmissionControl} has all beans.
 */
@Internal
public interface CallPart extends Ordered {

  /**
   * What its calls hold of this; null if they hold nothing. Called once for each plan, at its first
   * admitted call.
   */
  @Nullable Holder of(LimitPlan plan);

  /** Makes what the calls of one plan hold. */
  @Internal
  interface Holder {

    /**
     * What an admitted call holds; null if it holds nothing. Runs on the thread to which the
     * decision returns, often an event loop, before the method can be entered.
     *
     * @param asked what the store was asked
     * @param verdict the store's answer, which need not allow a call whose method has a parameter
     *     for it
     */
    @Nullable CallState admitted(LimitRequest asked, Verdict verdict);
  }
}
