// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.Rule;
import java.util.HashMap;
import java.util.Map;

/** A sliding window counter: the units of every window so far, by its number. */
final class CounterModel extends CellModel {

  private final long window;
  private final Map<Long, Long> units = new HashMap<>();
  private long lastTaken = Long.MIN_VALUE;
  private long count;
  private long now;

  CounterModel(long window) {
    this.window = window;
  }

  @Override
  CellModel copy() {
    CounterModel copy = new CounterModel(window);
    copy.units.putAll(units);
    copy.lastTaken = lastTaken;
    copy.count = count;
    copy.now = now;
    return copy;
  }

  @Override
  void proceed(Rule rule, long time) {
    count = rule.count();
    now = time;
  }

  private long in(long number) {
    return units.getOrDefault(number, 0L);
  }

  /** The formula of the method, in doubles: the inexact result is the definition. */
  private long leftAt(long time) {
    long number = Math.floorDiv(time, window);
    double left = window - Math.floorMod(time, window);
    double weight = Math.ceil(in(number - 1) * left / window);
    return count - in(number) - (long) weight;
  }

  private boolean unusedAt(long time) {
    long number = Math.floorDiv(time, window);
    return in(number) == 0 && in(number - 1) == 0;
  }

  @Override
  long end() {
    return (Math.floorDiv(now, window) + 1) * window;
  }

  @Override
  long remaining() {
    return leftAt(now);
  }

  @Override
  long microsUntilLeft(long wanted) {
    return Plain.first(1, 2 * window, wait -> leftAt(now + wait) >= wanted);
  }

  @Override
  long microsUntilMore() {
    return unusedAt(now) ? window : microsUntilLeft(remaining() + 1);
  }

  @Override
  long microsUntilReplenished() {
    return Plain.first(0, 2 * window, wait -> unusedAt(now + wait));
  }

  @Override
  void take(long taken) {
    lastTaken = Math.floorDiv(now, window);
    units.merge(lastTaken, taken, Long::sum);
  }

  /** Only the window in which something was last taken is kept, and the one before. */
  @Override
  boolean giveBack(Rule rule, long stamp, long some, long taken) {
    long number = Math.min(lastTaken, Math.floorDiv(stamp, window));
    if (units.isEmpty() || number < lastTaken - 1 || in(number) == 0) {
      return false;
    }
    units.put(number, Math.max(0, in(number) - some));
    return true;
  }
}
