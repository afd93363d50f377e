// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The state of one key beside its log: a cell for each rule that keeps numbers, and the ban. */
final class CellsModel {

  final List<CellModel> cells = new ArrayList<>();
  private final List<String> kinds = new ArrayList<>();
  BanModel ban = new BanModel();
  private Optional<BanRule> bannedBy = Optional.empty();
  private long newest = Long.MIN_VALUE;

  /** Units taken before the first of these numbers was written are not among them. */
  private long born = Long.MIN_VALUE;

  private long shift;

  long now(long clock) {
    return Math.max(clock + shift, newest);
  }

  void repair(long clock) {
    shift = now(clock) - clock;
  }

  /**
   * The same for a stack of these rules, which keep the same numbers under other counts, in any
   * order.
   */
  CellsModel under(List<Rule> rules) {
    CellsModel made = new CellsModel();
    made.newest = newest;
    made.born = born;
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
    made.ban = ban.copy();
    made.bannedBy = bannedBy;
    return made;
  }

  /** Time continues from here: something was written. */
  void written(long clock, Optional<BanRule> bans) {
    newest = now(clock);
    shift = newest - clock;
    born = born == Long.MIN_VALUE ? newest : born;
    if (bans.isPresent()) {
      bannedBy = bans;
    } else if (bannedBy.isPresent() && !ban.isNeeded(bannedBy.get(), newest)) {
      ban = new BanModel();
      bannedBy = Optional.empty();
    }
  }

  /**
   * Gives units back to each of these rules: to each cell what the call took from it, except {@code
   * kept} units.
   *
   * @return the most units given back to a cell that had any of them
   */
  long giveBack(List<Rule> rules, ChargeModel.Taken taken, int kept, long clock) {
    if (taken.cellTime() < born) {
      return 0;
    }
    List<String> rest = new ArrayList<>(kinds);
    long most = 0;
    for (int c = 0; c < rules.size(); c++) {
      int place = rest.indexOf(CellModel.kind(rules.get(c)));
      if (place < 0) {
        continue; // nothing of it was ever written
      }
      CellModel cell = cells.get(place);
      rest.set(place, "");
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
        any = cell.giveBack(taken.cellTime(), units, all);
      }
      most = any ? Math.max(most, units) : most;
    }
    return most;
  }
}
