// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

/** A rule that remembers each unit: those of one stack read one log of them. */
public sealed interface LoggedRule extends Rule permits SlidingWindowLog, ConcurrencyLimit {

  /** The most units that are remembered, {@link #count()} or more. */
  long kept();
}
