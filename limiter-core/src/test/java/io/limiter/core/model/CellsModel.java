// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.LeakyBucket;
import io.limiter.core.Rule;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What one key knows beside its log: a cell for each rule that keeps numbers, and the ban. */
final class CellsModel {

  final List<CellModel> cells = new ArrayList<>();
  private final List<String> kinds = new ArrayList<>();
  @Nullable BanModel ban;
  private long newest = Long.MIN_VALUE;
  private long shift;

  long now(long clock) {
    return Math.max(clock + shift, newest);
  }

  void repair(long clock) {
    shift = now(clock) - clock;
  }

  /** The same for a stack of these rules: what it has too goes on, what it lacks is left out. */
  CellsModel under(List<Rule> rules, boolean bans) {
    CellsModel made = new CellsModel();
    made.newest = newest;
    made.shift = shift;
    List<CellModel> rest = new ArrayList<>(cells);
    List<String> restKinds = new ArrayList<>(kinds);
    for (Rule rule : rules) {
      int same = restKinds.indexOf(CellModel.kind(rule));
      made.kinds.add(CellModel.kind(rule));
      made.cells.add(same < 0 ? CellModel.of(rule) : rest.remove(same).copy());
      if (same >= 0) {
        restKinds.remove(same);
      }
    }
    if (bans) {
      made.ban = ban == null ? new BanModel() : ban.copy();
    }
    return made;
  }

  /** Time goes on from here: something was written. */
  void written(long clock) {
    newest = now(clock);
    shift = newest - clock;
  }

  /** Gives units back, if the rules are still those under which they were taken. */
  boolean giveBack(List<Rule> rules, ChargeModel.Taken taken, int units, long clock) {
    boolean bans = taken.bans();
    int all = taken.charge().cost();
    if (!kinds.equals(rules.stream().map(CellModel::kind).toList()) || bans != (ban != null)) {
      return false;
    }
    boolean any = false;
    for (int c = 0; c < cells.size(); c++) {
      CellModel cell = cells.get(c);
      if (cell instanceof LeakyModel leaky) {
        LeakyBucket under = (LeakyBucket) rules.get(c);
        any |=
            units == all
                && taken.departure().isPresent()
                && leaky.giveUp(under, taken.departure().get(), units, now(clock));
      } else {
        any |= cell.giveBack(taken.cellTime(), units, all);
      }
    }
    return any;
  }
}
