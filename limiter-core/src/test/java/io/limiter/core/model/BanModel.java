// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.BanRule;
import java.util.ArrayList;
import java.util.List;

/** The violations of one subject since its last ban, with their times, and that ban. */
final class BanModel {

  private final List<Long> violations = new ArrayList<>();
  private long began;
  private long until;

  /** The number of bans, each soon after the one before. */
  private int inARow;

  BanModel copy() {
    BanModel copy = new BanModel();
    copy.violations.addAll(violations);
    copy.began = began;
    copy.until = until;
    copy.inARow = inARow;
    return copy;
  }

  /** The clock was set back before the last violation or ban: it has just happened. */
  void proceed(long clock) {
    long last = violations.isEmpty() ? began : violations.get(0);
    long ahead = last - clock;
    if (ahead > 0 && (inARow > 0 || !violations.isEmpty())) {
      violations.replaceAll(time -> time - ahead);
      began -= ahead;
      until -= ahead;
    }
  }

  /** The remaining time of the ban, at most the longest that the rule allows now. */
  long restMicros(BanRule ban, long now) {
    return inARow == 0 ? 0 : Math.max(0, end(ban) - now);
  }

  private long end(BanRule ban) {
    return Math.min(until, began + Plain.micros(ban.longest()));
  }

  void violate(BanRule ban, long now) {
    if (!violations.isEmpty() && now - violations.get(0) >= Plain.micros(ban.within())) {
      violations.clear();
    }
    violations.add(now);
    until = end(ban);
    began = until; // it has passed, and is not shortened again
    if (violations.size() < ban.violations()) {
      return;
    }
    violations.clear();
    long longest = Plain.micros(ban.longest());
    if (now - until >= longest) {
      inARow = 0;
    }
    double length = Plain.micros(ban.time()) * Math.pow(ban.growth(), inARow);
    began = now;
    until = now + (long) Math.min(length, longest);
    inARow++;
  }
}
