// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.StackShape;
import io.limiter.core.state.Cell;
import io.limiter.core.store.KnownUse;
import io.limiter.core.store.KnownUse.PastUnits;
import io.limiter.core.store.KnownUse.RuleUse;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Builds the state of a key from the verdict of another store, so that this store never admits more
 * than the other would. A verdict does not contain the time of each unit of a log: those that come
 * back first are as old as the verdict implies, and all others are taken to be as young as
 * possible.
 */
final class AdoptedState {

  private final Charge charge;
  private final KnownUse known;
  private final long clockMicros;
  private final long decided;
  private final StackShape shape;
  private final List<Rule> rules;

  private AdoptedState(Charge charge, KnownUse known, long clockMicros) {
    this.charge = charge;
    this.known = known;
    this.clockMicros = clockMicros;
    this.decided = clockMicros - known.ageMicros();
    this.shape = charge.stack().shape();
    this.rules = charge.stack().rules();
  }

  /** The state to keep; empty if nothing is used. */
  static Optional<UnitLog> of(Charge charge, KnownUse known, long clockMicros) {
    return new AdoptedState(charge, known, clockMicros).log();
  }

  private Optional<UnitLog> log() {
    UnitLog log = new UnitLog();
    if (shape.logs() > 0) {
      List<PastUnits> units = new ArrayList<>(known.rules().isEmpty() ? List.of() : logged());
      units.addAll(known.since());
      units.sort(Comparator.comparingLong(PastUnits::ageMicros).reversed());
      for (PastUnits some : units) {
        log.take(clockMicros - some.ageMicros(), some.units(), shape.kept(), shape.horizonMicros());
      }
    }
    Optional<BanRule> ban = charge.stack().ban();
    if (shape.logs() < rules.size() || ban.isPresent()) {
      log.remember(cells(ban));
    }
    return log.size() > 0 || log.cells() != null ? Optional.of(log) : Optional.empty();
  }

  /** The units of the log, by their current age. */
  private List<PastUnits> logged() {
    int[] byWindow =
        IntStream.range(0, rules.size())
            .filter(shape::isLog)
            .boxed()
            .sorted(Comparator.comparingLong(shape::windowMicros))
            .mapToInt(r -> r)
            .toArray();
    List<PastUnits> units = new ArrayList<>();
    long counted = 0;
    long youngest = -1;
    for (int r : byWindow) {
      RuleUse use = known.rules().get(r);
      long window = shape.windowMicros(r);
      // The newest of all units determines when the rule resets; units that only a longer window
      // counts are older than the shorter window.
      if (youngest < 0) {
        youngest = Math.max(0, window - use.resetsAfterMicros());
      }
      long more = used(r) - counted;
      if (more > 0) {
        long first = Math.min(more, Math.max(1, use.returning()));
        add(units, Math.max(youngest, window - use.returnsAfterMicros()), first);
        add(units, youngest, more - first);
        counted += more;
      }
      youngest = Math.max(youngest, window);
    }
    return units;
  }

  private void add(List<PastUnits> units, long ageThen, long some) {
    if (some > 0) {
      units.add(new PastUnits(known.ageMicros() + ageThen, (int) some));
    }
  }

  private long used(int rule) {
    return Math.max(0, rules.get(rule).capacity() - known.rules().get(rule).remaining());
  }

  private CellArray cells(Optional<BanRule> ban) {
    Cell[] cells = new Cell[rules.size() - shape.logs()];
    long newest = known.rules().isEmpty() ? Long.MIN_VALUE : decided;
    for (int r = 0; r < rules.size(); r++) {
      if (shape.isLog(r)) {
        continue;
      }
      Rule rule = rules.get(r);
      Cell cell = Cell.unused(rule);
      if (!known.rules().isEmpty() && used(r) > 0) {
        RuleUse use = known.rules().get(r);
        cell = Cell.used(rule, used(r), decided, use.returnsAfterMicros(), use.resetsAfterMicros());
      }
      for (PastUnits some : known.since()) {
        long atMicros = Math.max(decided, clockMicros - some.ageMicros());
        cell = cell.recorded(rule, atMicros, some.units());
        newest = Math.max(newest, atMicros);
      }
      cells[shape.place(r)] = cell;
    }
    BanState state =
        known.bannedMicros() > 0
            ? new BanState(decided, 0, decided + known.bannedMicros(), 1)
            : BanState.NONE;
    CellArray made = new CellArray();
    made.write(
        cells,
        List.of(),
        ban,
        ban.isPresent() ? state : null,
        newest == Long.MIN_VALUE ? clockMicros : newest,
        0);
    return made;
  }
}
