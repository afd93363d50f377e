// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.FadingCounter;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;

/** The {@link FadingCounter}, window by window. */
final class FadingModel extends CellModel {

  private CustomRule rule;
  private boolean begun;
  private long used;
  private long end;
  private long now;

  @Override
  void proceed(Rule reading, long time) {
    rule = (CustomRule) reading;
    if (!begun || time - now >= Plain.micros(rule.memory())) {
      used = 0;
    }
    now = time;
    while (used > 0 && end <= now) {
      fade();
    }
    if (used == 0) {
      end = now + Plain.window(rule);
    }
  }

  private void fade() {
    used = (long) (used / rule.parameters().get(0));
    end += Plain.window(rule);
  }

  @Override
  long remaining() {
    return rule.count() - used;
  }

  @Override
  long microsUntilLeft(long wanted) {
    FadingModel later = (FadingModel) copy();
    long time = 0;
    while (later.remaining() < wanted) {
      time = later.end - now;
      later.fade();
    }
    return time;
  }

  @Override
  long microsUntilMore() {
    return end - now;
  }

  @Override
  long microsUntilReplenished() {
    return used == 0 ? 0 : microsUntilLeft(rule.count());
  }

  @Override
  void take(long units) {
    begun = true;
    used += units;
  }

  @Override
  boolean giveBack(Rule rule, long stamp, long units, long taken) {
    return false;
  }
}
