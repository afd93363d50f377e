// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The algorithms of rules that keep numbers instead of a log: for each one its part of the Redis
 * scripts. Scripts try them in this order, so the most used ones come first.
 */
public enum CellAlgorithm {
  TOKEN_BUCKET(4, "token-bucket"),
  FIXED_WINDOW(2, "fixed-window"),
  ALIGNED_WINDOW(3, "fixed-window"),
  CALENDAR_WINDOW(7, "fixed-window"),
  ANCHORED_WINDOW(8, "fixed-window"),
  SLIDING_COUNTER(1, "sliding-counter"),
  INTERVAL_BUCKET(5, "token-bucket"),
  LEAKY_BUCKET(6, "leaky-bucket"),

  /** The first {@link CustomAlgorithm}; the others have the numbers that follow. */
  CUSTOM(64, null);

  private final int number;
  private final @Nullable String script;

  CellAlgorithm(int number, @Nullable String script) {
    this.number = number;
    this.script = script;
  }

  /** The cell of a rule, whose numbers begin at this index. */
  static Cell cell(Rule rule, int at) {
    if (rule instanceof TokenBucketRule bucket) {
      return bucket.greedy() ? new GreedyCell(bucket, at) : new IntervalCell(bucket, at);
    }
    if (rule instanceof FixedWindowRule window) {
      return new WindowCell(window, at);
    }
    if (rule instanceof SlidingWindowCounterRule counter) {
      return new CounterCell(counter, at);
    }
    if (rule instanceof LeakyBucketRule bucket) {
      return new LeakyCell(bucket, at);
    }
    if (rule instanceof CustomRule custom) {
      return new CustomCell(custom, at);
    }
    throw new IllegalArgumentException("A log has no cell: " + rule);
  }

  /**
   * The number in a plan; scripts use it under the name of this constant. It is below that of
   * {@link #CUSTOM}.
   */
  public int number() {
    return number;
  }

  /**
   * The Lua file that decides and gives back; empty for a {@link CustomAlgorithm}, which has its
   * own script.
   */
  public Optional<String> script() {
    return Optional.ofNullable(script);
  }
}
