// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.BanRule;

/**
 * The state of one subject's violations under a {@link BanRule}; {@code ban.lua} does the same.
 * Immutable; times are microseconds on the store's clock.
 *
 * @param sinceMicros the first violation that counts; if there are none, the time at which the last
 *     ban began
 * @param violations how many count
 * @param untilMicros the end of the last ban, if there was one
 * @param level one more than the number of times the ban has grown; 0 if there was none
 */
record BanState(long sinceMicros, int violations, long untilMicros, int level) {

  static final BanState NONE = new BanState(0, 0, 0, 0);

  /** If the clock was set back, returns this state as if it had just begun. */
  BanState at(long clockMicros) {
    long ahead = sinceMicros - clockMicros;
    return equals(NONE) || ahead <= 0
        ? this
        : new BanState(clockMicros, violations, untilMicros - ahead, level);
  }

  /**
   * The remaining microseconds of the ban, at most the longest ban that the rule allows now. The
   * state keeps the original end, for rules that allow it.
   */
  long restMicros(BanRule ban, long clockMicros) {
    return level == 0 ? 0 : Math.max(0, endMicros(ban) - clockMicros);
  }

  /** The end of the ban; it has passed if violations were counted after it. */
  private long endMicros(BanRule ban) {
    return violations > 0
        ? untilMicros
        : Math.min(untilMicros, sinceMicros + MICROSECONDS.convert(ban.longest()));
  }

  /** Returns this state with one more violation. */
  BanState violated(BanRule ban, long clockMicros) {
    boolean first =
        violations == 0 || clockMicros - sinceMicros >= MICROSECONDS.convert(ban.within());
    long from = first ? clockMicros : sinceMicros;
    int count = first ? 1 : violations + 1;
    if (count < ban.violations()) {
      return new BanState(from, count, endMicros(ban), level);
    }
    long longestMicros = MICROSECONDS.convert(ban.longest());
    int grown = clockMicros - endMicros(ban) >= longestMicros ? 0 : level;
    long timeMicros = MICROSECONDS.convert(ban.time());
    for (int i = 0; ban.growth() > 1 && i < grown && timeMicros < longestMicros; i++) {
      timeMicros *= ban.growth();
    }
    return new BanState(
        clockMicros, 0, clockMicros + Math.min(timeMicros, longestMicros), grown + 1);
  }

  /** The time from which the state is no longer needed. */
  long neededUntilMicros(BanRule ban) {
    long countingMicros =
        violations == 0 ? sinceMicros : sinceMicros + MICROSECONDS.convert(ban.within());
    return level == 0
        ? countingMicros
        : Math.max(countingMicros, untilMicros + MICROSECONDS.convert(ban.longest()));
  }
}
