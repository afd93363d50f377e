// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** How a stream ends whose next units are denied: see {@link StreamBudget#end}. */
public enum StreamEnd {
  /**
   * The stream goes on to its own end. What it sends beyond the limits is taken all the same, so
   * that later calls wait for it.
   */
  FINISH,

  /**
   * The stream ends before the first item that is not covered, with the item that a bean of type
   * {@link BudgetEnd} makes, if there is one. The response is complete, with its usual status.
   */
  CUT
}
