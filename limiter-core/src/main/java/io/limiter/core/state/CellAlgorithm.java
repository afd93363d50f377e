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
  TOKEN_BUCKET(4, "token-bucket", 4, GreedyCell::unused),
  FIXED_WINDOW(2, "fixed-window", 2, WindowCell::unused),
  ALIGNED_WINDOW(3, "fixed-window", 2, WindowCell::unused),
  SLIDING_COUNTER(1, "sliding-counter", 1, CounterCell::unused),
  INTERVAL_BUCKET(5, "interval-bucket", 4, IntervalCell::unused),
  LEAKY_BUCKET(6, "leaky-bucket", 6, LeakyCell::unused),

  /** The first {@link CustomAlgorithm}; the others have the numbers that follow. */
  CUSTOM(64, null, 0, CustomCell::unused);

  static final CellAlgorithm[] ALL = values();

  private final int number;
  private final @Nullable String script;
  private final int kind;

  @SuppressWarnings("ImmutableEnumChecker") // a method reference
  private final Function<Rule, @Nullable Cell> unused;

  CellAlgorithm(
      int number, @Nullable String script, int kind, Function<Rule, @Nullable Cell> unused) {
    this.number = number;
    this.script = script;
    this.kind = kind;
    this.unused = unused;
  }

  /** The cell of a rule that is fully replenished; null if the rule has another algorithm. */
  @Nullable Cell unused(Rule rule) {
    return unused.apply(rule);
  }

  /**
   * The number in a plan; scripts know it by the name of this constant. It is below that of {@link
   * #CUSTOM}, and not 9, which is a ban.
   */
  public int number() {
    return number;
  }

  /**
   * The Lua file that decides, gives back and converts; empty for a {@link CustomAlgorithm}, which
   * has its own script.
   */
  public Optional<String> script() {
    return Optional.ofNullable(script);
  }

  /**
   * Identifies algorithms whose rules may start from each other's cells; 0 if there are none. Redis
   * stores it.
   */
  public int kind() {
    return kind;
  }
}
