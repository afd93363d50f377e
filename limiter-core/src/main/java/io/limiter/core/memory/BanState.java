// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Micros;

/**
 * The state of one subject's violations under a {@link BanRule}. Immutable; times are microseconds.
 *
 * @param since the first violation that counts; if there are none, the time at which the last ban
 *     began
 * @param violations how many count
 * @param until the end of the last ban, if there was one
 * @param level one more than the number of times the ban has grown; 0 if there was none
 */
record BanState(long since, int violations, long until, int level) {

  static final BanState NONE = new BanState(0, 0, 0, 0);

  /**
   * The remaining microseconds of the ban, at most the longest ban that the rule allows now. The
   * state keeps the original end, for rules that allow it.
   */
  long restMicros(BanRule ban, long nowMicros) {
    return level == 0 ? 0 : Math.max(0, endMicros(ban) - nowMicros);
  }

  /** The end of the ban; it has passed if violations were counted after it. */
  private long endMicros(BanRule ban) {
    return violations > 0 ? until : Math.min(until, since + Micros.of(ban.longest()));
  }

  /** Returns this state with one more violation. */
  BanState violated(BanRule ban, long nowMicros) {
    boolean first = violations == 0 || nowMicros - since >= Micros.of(ban.within());
    long from = first ? nowMicros : since;
    int count = first ? 1 : violations + 1;
    if (count < ban.violations()) {
      return new BanState(from, count, endMicros(ban), level);
    }
    long longest = Micros.of(ban.longest());
    int grown = nowMicros - endMicros(ban) >= longest ? 0 : level;
    long time = Micros.of(ban.time());
    for (int i = 0; ban.growth() > 1 && i < grown && time < longest; i++) {
      time *= ban.growth();
    }
    return new BanState(nowMicros, 0, nowMicros + Math.min(time, longest), grown + 1);
  }

  /** The time from which on the state is not needed. */
  long neededUntilMicros(BanRule ban) {
    long counting = violations == 0 ? Long.MIN_VALUE : since + Micros.of(ban.within());
    long growing = level == 0 ? Long.MIN_VALUE : until + Micros.of(ban.longest());
    return Math.max(counting, growing);
  }
}
