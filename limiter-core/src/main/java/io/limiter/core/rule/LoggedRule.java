// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

/** A rule that keeps every unit. The rules of one stack share one log. */
public sealed interface LoggedRule extends Rule permits SlidingWindowLog, ConcurrencyLimitRule {

  /** The most units that are kept, {@link #count()} or more. */
  long kept();
}
