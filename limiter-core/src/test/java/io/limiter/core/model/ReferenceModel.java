// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.Answer;
import io.limiter.core.Charge;
import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Rule;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Step;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Decides as every store must. */
public final class ReferenceModel {

  private final Map<Key, LogModel> logs = new HashMap<>();
  private final Map<Key, CellsModel> cells = new HashMap<>();
  private final Map<Integer, List<ChargeModel.Taken>> taken = new HashMap<>();

  /** Runs one step, and answers as {@link io.limiter.core.Scenario#run} does. */
  public Object apply(Step step) {
    if (step.action() instanceof Step.Decide decide) {
      return decide(step.id(), step.clock(), decide.request(), decide.mode());
    }
    if (step.action() instanceof Step.GiveBack back) {
      return giveBack(taken.getOrDefault(back.of(), new ArrayList<>()), back.guardOnly());
    }
    for (Key key : ((Step.Reset) step.action()).keys()) {
      logs.remove(key);
      cells.remove(key);
    }
    return Answer.DONE;
  }

  private Answer decide(int id, long clock, LimitRequest request, Mode mode) {
    List<ChargeModel> charges = new ArrayList<>();
    for (Charge charge : request.charges()) {
      charges.add(charge(charge, false, mode, clock));
    }
    Optional<ChargeModel> guard =
        request.duplicate().map(charge -> charge(charge, true, mode, clock));
    long ban = charges.stream().mapToLong(ChargeModel::bannedFor).max().orElse(0);
    Outcome outcome = Outcome.ALLOWED;
    if (ban > 0) {
      outcome = Outcome.BANNED;
    } else if (charges.stream().anyMatch(ChargeModel::violated)) {
      outcome = Outcome.LIMITED;
    } else if (guard.isPresent() && guard.get().violated()) {
      outcome = Outcome.DUPLICATE;
    }
    boolean takes = outcome == Outcome.ALLOWED && mode != Mode.PEEK;
    List<RuleVerdict> verdicts = new ArrayList<>();
    for (int c = 0; c < charges.size(); c++) {
      for (Rule rule : request.charges().get(c).stack().rules()) {
        verdicts.add(charges.get(c).verdict(rule, takes));
      }
    }
    Optional<RuleVerdict> duplicate =
        guard.map(
            model ->
                model.verdict(request.duplicate().orElseThrow().stack().rules().get(0), takes));
    List<ChargeModel.Taken> all = new ArrayList<>();
    for (ChargeModel charge : Stream.concat(charges.stream(), guard.stream()).toList()) {
      if (takes) {
        all.add(charge.take(this));
      } else if (mode != Mode.PEEK) {
        charge.refuse(this);
      }
    }
    taken.put(id, all);
    return new Answer.Decided(
        outcome,
        verdicts,
        duplicate,
        ban > 0 ? Optional.of(Plain.duration(ban)) : Optional.empty());
  }

  private ChargeModel charge(Charge charge, boolean guard, Mode mode, long clock) {
    return new ChargeModel(
        charge,
        guard,
        mode,
        clock,
        logs.getOrDefault(charge.key(), new LogModel()),
        cells.getOrDefault(charge.key(), new CellsModel()));
  }

  void put(Key key, LogModel log) {
    logs.put(key, log);
  }

  void put(Key key, CellsModel counted) {
    cells.put(key, counted);
  }

  /** What is given back is taken off the list: it is given back once. */
  private Answer giveBack(List<ChargeModel.Taken> units, boolean guardOnly) {
    long found = 0;
    for (ChargeModel.Taken one : List.copyOf(units)) {
      if (guardOnly && !one.guard()) {
        continue;
      }
      units.remove(one);
      found += giveBack(one);
    }
    return new Answer.GivenBack(found);
  }

  private long giveBack(ChargeModel.Taken one) {
    Charge charge = one.charge();
    long found = 0;
    LogModel log = logs.get(charge.key());
    if (log != null && !ChargeModel.logged(charge).isEmpty()) {
      found = log.giveBack(one.logTime(), charge.cost());
      if (log.isEmpty()) {
        logs.remove(charge.key());
      }
    }
    CellsModel counted = cells.get(charge.key());
    boolean any =
        counted != null
            && counted.giveBack(
                ChargeModel.counted(charge), one.bans(), one.cellTime(), charge.cost());
    return any ? Math.max(found, charge.cost()) : found;
  }
}
