// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.Rule;
import java.util.ArrayList;
import java.util.List;

/** A fixed window: the units taken in it, with their times. */
final class WindowModel extends CellModel {

  private static final long TWO_HOURS = 7_200_000_000L;

  private record Taken(long stamp, long units) {}

  private final FixedWindowRule rule;
  private final List<Taken> taken = new ArrayList<>();
  private long begin;
  private long end;
  private long count;
  private long now;

  WindowModel(FixedWindowRule rule) {
    this.rule = rule;
  }

  @Override
  CellModel copy() {
    WindowModel copy = new WindowModel(rule);
    copy.taken.addAll(taken);
    copy.begin = begin;
    copy.end = end;
    copy.count = count;
    copy.now = now;
    return copy;
  }

  @Override
  void proceed(Rule reading, long time) {
    count = reading.count();
    now = time;
    if (rule.isBySubject()) {
      proceed(windows((FixedWindowRule) reading));
    } else if (rule.alignment().isPresent()) {
      ZoneWindows windows = windows(rule);
      if (begin != windows.begin(now)) {
        taken.clear();
      }
      begin = windows.begin(now);
      end = windows.end(now);
    } else if (used() == 0 || now >= end) {
      taken.clear();
      begin = now;
      end = now + Plain.window(rule);
    }
  }

  private static ZoneWindows windows(FixedWindowRule rule) {
    return new ZoneWindows(rule.alignment().orElseThrow(), rule.window());
  }

  /** The window lasts until a whole period of these has passed since it began. */
  private void proceed(ZoneWindows windows) {
    end = windows.end(now);
    if (begin == 0 || begin <= windows.begin(windows.begin(now) - 1) + TWO_HOURS) {
      taken.clear();
      begin = windows.begin(now);
    }
    while (begin > windows.begin(end - 1) + TWO_HOURS) {
      end = windows.end(end);
    }
  }

  private long used() {
    return taken.stream().mapToLong(Taken::units).sum();
  }

  /** By another anchor the period may end at any midnight. */
  @Override
  long end() {
    if (!rule.isBySubject()) {
      return end;
    }
    Alignment days = Alignment.to(rule.alignment().orElseThrow().zone()).each(CalendarPeriod.DAY);
    return Math.min(end, new ZoneWindows(days, rule.window()).end(now));
  }

  @Override
  long remaining() {
    return count - used();
  }

  @Override
  long microsUntilLeft(long wanted) {
    return end - now;
  }

  @Override
  long microsUntilMore() {
    return end - now;
  }

  @Override
  long microsUntilReplenished() {
    return used() == 0 ? 0 : end - now;
  }

  @Override
  void take(long units) {
    taken.add(new Taken(now, units));
  }

  /** All units of a window are equivalent. */
  @Override
  boolean giveBack(Rule rule, long stamp, long units, long all) {
    if (stamp < begin || used() == 0) {
      return false;
    }
    long back = Math.min(units, used());
    taken.add(new Taken(stamp, -back));
    return true;
  }
}
