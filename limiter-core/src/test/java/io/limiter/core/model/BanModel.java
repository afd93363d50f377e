// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.Ban;
import java.util.ArrayList;
import java.util.List;

/** The violations of one subject since its last ban, each by its time, and that ban. */
final class BanModel {

  private final List<Long> violations = new ArrayList<>();
  private long until;

  /** How many bans there were, each soon after the one before. */
  private int inARow;

  BanModel copy() {
    BanModel copy = new BanModel();
    copy.violations.addAll(violations);
    copy.until = until;
    copy.inARow = inARow;
    return copy;
  }

  /** The rest of the ban; no longer than the longest that there may be by now. */
  long rest(Ban ban, long now) {
    long rest = inARow == 0 ? 0 : Math.max(0, until - now);
    return Math.min(rest, Plain.micros(ban.longest()));
  }

  /** A ban that is longer than there may be by now is cut. */
  void cut(Ban ban, long now) {
    if (rest(ban, now) > 0) {
      until = now + rest(ban, now);
    }
  }

  void violate(Ban ban, long now) {
    if (!violations.isEmpty() && now - violations.get(0) >= Plain.micros(ban.within())) {
      violations.clear();
    }
    violations.add(now);
    if (violations.size() < ban.violations()) {
      return;
    }
    violations.clear();
    long longest = Plain.micros(ban.longest());
    if (now - until >= longest) {
      inARow = 0;
    }
    double length = Plain.micros(ban.time()) * Math.pow(ban.growth(), inARow);
    until = now + (long) Math.min(length, longest);
    inARow++;
  }
}
