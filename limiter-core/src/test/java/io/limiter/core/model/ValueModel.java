// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import java.util.ArrayList;
import java.util.List;

/** The state of one key: its log, a cell for each rule that keeps numbers, and its time. */
final class ValueModel {

  final LogModel log = new LogModel();

  /** By the places of their rules; empty if none was written. */
  List<CellModel> cells = new ArrayList<>();

  private boolean written;
  private long time;
  private long shift;

  /** Units taken before the first of the cells was written are not among them. */
  private long born;

  long now(long clock) {
    return written ? Math.max(clock + shift, time) : clock;
  }

  /** A denied call that changes nothing else writes the shift. */
  void repair(long clock) {
    if (written) {
      shift = now(clock) - clock;
    }
  }

  /** Time continues from here. */
  void written(long clock) {
    time = now(clock);
    shift = time - clock;
    written = true;
  }

  void write(List<CellModel> counted, long clock) {
    if (cells.isEmpty() && !counted.isEmpty()) {
      born = now(clock);
    }
    cells = counted;
  }

  boolean isEmpty() {
    return log.isEmpty() && cells.isEmpty();
  }

  /**
   * Gives units back to each of these rules: to each cell what the call took from it, except {@code
   * kept} units.
   *
   * @return the most units given back to a cell that had any of them
   */
  long giveBack(List<Rule> rules, ChargeModel.Taken taken, int kept, long clock) {
    if (cells.isEmpty() || taken.time() < born) {
      return 0;
    }
    long most = 0;
    for (int c = 0; c < rules.size(); c++) {
      CellModel cell = cells.get(c);
      long all = taken.ofCells().get(c);
      long units = all - kept;
      if (units <= 0) {
        continue;
      }
      boolean any;
      if (cell instanceof LeakyModel leaky) {
        LeakyBucketRule under = (LeakyBucketRule) rules.get(c);
        any =
            units == all
                && taken.departure().isPresent()
                && leaky.giveUp(under, taken.departure().get(), units, now(clock));
      } else {
        any = cell.giveBack(rules.get(c), taken.time(), units, all);
      }
      most = any ? Math.max(most, units) : most;
    }
    return most;
  }
}
