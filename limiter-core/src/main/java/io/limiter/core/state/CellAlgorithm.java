// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.CustomAlgorithm;

/**
 * The algorithms of rules that keep numbers instead of a log, with their numbers in the Redis
 * scripts, which have a branch for each.
 */
public enum CellAlgorithm {
  TOKEN_BUCKET(4),
  FIXED_WINDOW(2),
  ALIGNED_WINDOW(3),
  CALENDAR_WINDOW(7),
  ANCHORED_WINDOW(8),
  SLIDING_COUNTER(1),
  INTERVAL_BUCKET(5),
  LEAKY_BUCKET(6),

  /** The first {@link CustomAlgorithm}; the others have the numbers that follow. */
  CUSTOM(64);

  private final int number;

  CellAlgorithm(int number) {
    this.number = number;
  }

  /**
   * The number in a plan; scripts use it under the name of this constant. It is below that of
   * {@link #CUSTOM}.
   */
  public int number() {
    return number;
  }
}
