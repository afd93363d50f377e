// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.Rule;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The algorithms of rules that keep numbers instead of a log: for each one its {@link Cell} and its
 * part of the Redis scripts. Scripts try them in this order, so the most used ones come first.
 */
public enum CellAlgorithm {
  TOKEN_BUCKET(4, "token-bucket", GreedyCell::unused),
  FIXED_WINDOW(2, "fixed-window", WindowCell::unused),
  ALIGNED_WINDOW(3, "fixed-window", WindowCell::unused),
  CALENDAR_WINDOW(7, "fixed-window", WindowCell::unused),
  ANCHORED_WINDOW(8, "fixed-window", WindowCell::unused),
  SLIDING_COUNTER(1, "sliding-counter", CounterCell::unused),
  INTERVAL_BUCKET(5, "interval-bucket", IntervalCell::unused),
  LEAKY_BUCKET(6, "leaky-bucket", LeakyCell::unused),

  /** The first {@link CustomAlgorithm}; the others have the numbers that follow. */
  CUSTOM(64, null, CustomCell::unused);

  static final CellAlgorithm[] ALL = values();

  private final int number;
  private final @Nullable String script;

  @SuppressWarnings("ImmutableEnumChecker") // a method reference
  private final Function<Rule, @Nullable Cell> unused;

  CellAlgorithm(int number, @Nullable String script, Function<Rule, @Nullable Cell> unused) {
    this.number = number;
    this.script = script;
    this.unused = unused;
  }

  /** The cell of a rule that is fully replenished; null if the rule has another algorithm. */
  @Nullable Cell unused(Rule rule) {
    return unused.apply(rule);
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
