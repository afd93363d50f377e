// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.Answer;
import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Step;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Decides as every store must. */
public final class ReferenceModel {

  private static final Policy ANY =
      Policy.of("any", SlidingWindowLogRule.of(1, Duration.ofSeconds(1)));

  private final Map<StateKey, ValueModel> values = new HashMap<>();
  private final Map<StateKey, BanModel> bans = new HashMap<>();

  /** How often each key was reset, or lost: units taken before are not given back after it. */
  private final Map<StateKey, Integer> resets = new HashMap<>();

  private final Map<Integer, List<ChargeModel.Taken>> taken = new HashMap<>();
  private final Map<Integer, ChargeModel.Taken> leased = new HashMap<>();

  /** Runs one step, and answers as {@link io.limiter.core.Scenario#run} does. */
  public Object apply(Step step) {
    if (step.action() instanceof Step.Decide decide) {
      return decide(step.id(), step.clock(), decide.request(), decide.mode(), 0);
    }
    if (step.action() instanceof Step.Lease lease) {
      return lease(step.id(), step.clock(), lease.request(), lease.micros());
    }
    if (step.action() instanceof Step.GiveBackLeased back) {
      return giveBackLeased(back.of(), back.units(), step.clock());
    }
    if (step.action() instanceof Step.GiveBack back) {
      return giveBack(
          taken.getOrDefault(back.of(), new ArrayList<>()), back.guardOnly(), step.clock());
    }
    if (step.action() instanceof Step.Settle settle) {
      return settle(taken.getOrDefault(settle.of(), new ArrayList<>()), settle, step.clock());
    }
    if (step.action() instanceof Step.Renew renew) {
      return renew(taken.getOrDefault(renew.of(), new ArrayList<>()), step.clock());
    }
    for (StateKey key : ((Step.Reset) step.action()).keys()) {
      values.remove(key);
      bans.remove(key.ban());
      resets.merge(key, 1, Integer::sum);
    }
    return Answer.DONE;
  }

  private Answer lease(int id, long clock, LimitRequest request, long micros) {
    long spendable = charge(request.charge(0), false, Mode.ACQUIRE, micros, clock).spendable();
    Answer.Decided decided = decide(-1, clock, request, Mode.ACQUIRE, micros);
    boolean granted = decided.outcome() == Outcome.ALLOWED;
    leased.put(id, granted ? taken.get(-1).get(0) : null);
    return new Answer.Leased(decided, granted ? spendable : 0);
  }

  private Answer giveBackLeased(int of, int units, long clock) {
    ChargeModel.Taken all = leased.get(of);
    if (all == null) {
      return new Answer.GivenBack(0);
    }
    int some = Math.min(units, all.charge().cost());
    boolean isLast = some == all.charge().cost();
    leased.put(of, isLast ? null : all.without(some));
    return new Answer.GivenBack(giveBack(all, some, clock));
  }

  private Answer.Decided decide(int id, long clock, LimitRequest request, Mode mode, long lease) {
    List<ChargeModel> charges = new ArrayList<>();
    for (Charge charge : request.charges()) {
      charges.add(charge(charge, false, mode, lease, clock));
    }
    Optional<ChargeModel> guard =
        request.duplicate().map(charge -> charge(charge, true, mode, 0, clock));
    long ban = charges.stream().mapToLong(ChargeModel::bannedFor).max().orElse(0);
    Outcome outcome = Outcome.ALLOWED;
    if (ban > 0) {
      outcome = Outcome.BANNED;
    } else if (charges.stream().anyMatch(ChargeModel::denies)) {
      outcome = Outcome.LIMITED;
    } else if (guard.isPresent() && guard.get().denies()) {
      outcome = Outcome.DUPLICATE;
    }
    boolean takes = outcome == Outcome.ALLOWED && mode != Mode.PEEK;
    List<RuleVerdict> verdicts = new ArrayList<>();
    for (int c = 0; c < charges.size(); c++) {
      for (Rule rule : request.charges().get(c).stack().rules()) {
        verdicts.add(charges.get(c).verdict(rule, takes && charges.get(c).takes()));
      }
    }
    Optional<RuleVerdict> duplicate =
        guard.map(
            model ->
                model.verdict(
                    request.duplicate().orElseThrow().stack().rules().get(0),
                    takes && model.takes()));
    long delay = charges.stream().mapToLong(ChargeModel::delayMicros).max().orElse(0);
    List<ChargeModel.Taken> all = new ArrayList<>();
    for (ChargeModel charge : Stream.concat(charges.stream(), guard.stream()).toList()) {
      if (takes && charge.takes()) {
        all.add(charge.take(this));
      } else if (mode != Mode.PEEK) {
        charge.deny(this);
      }
    }
    taken.put(id, all);
    boolean waits = outcome == Outcome.ALLOWED && mode != Mode.RECORD;
    return new Answer.Decided(
        outcome,
        verdicts,
        duplicate,
        ban > 0 ? Optional.of(Plain.duration(ban)) : Optional.empty(),
        Plain.duration(waits ? delay : 0));
  }

  private ChargeModel charge(Charge charge, boolean guard, Mode mode, long lease, long clock) {
    return new ChargeModel(
        charge,
        guard,
        mode,
        lease,
        clock,
        values.getOrDefault(charge.key(), new ValueModel()),
        bans.computeIfAbsent(charge.key().ban(), first -> new BanModel()));
  }

  int resets(StateKey key) {
    return resets.getOrDefault(key, 0);
  }

  void put(StateKey key, ValueModel value) {
    values.put(key, value);
  }

  /** Units given back are removed from the list, since they are given back once. */
  private Answer giveBack(List<ChargeModel.Taken> units, boolean guardOnly, long clock) {
    long found = 0;
    for (ChargeModel.Taken one : List.copyOf(units)) {
      if (guardOnly && !one.guard()) {
        continue;
      }
      units.remove(one);
      found += giveBack(one, one.charge().cost(), clock);
    }
    return new Answer.GivenBack(found);
  }

  /**
   * The units given back, and the additional cost, are computed independently of {@link
   * Completion}.
   */
  private Answer settle(List<ChargeModel.Taken> units, Step.Settle settle, long clock) {
    long found = 0;
    List<Charge> more = new ArrayList<>();
    for (ChargeModel.Taken one : List.copyOf(units)) {
      if (one.guard()) {
        continue;
      }
      units.remove(one);
      Charge charge = one.charge();
      int kept = settle.cost().orElse(charge.cost());
      boolean counts =
          charge.stack().counting() == Counting.ALL
              || settle.how() == Step.Settle.How.CANCELLED
              || charge.stack().counting()
                  == (settle.how() == Step.Settle.How.FAILED
                      ? Counting.FAILURES
                      : Counting.SUCCESSES);
      if (!counts || charge.stack().rules().get(0) instanceof ConcurrencyLimitRule) {
        kept = 0;
      }
      if (kept > charge.cost()) {
        more.add(charge.withCost(kept - charge.cost()));
      }
      if (kept < charge.cost()) {
        found += giveBack(one, charge.cost() - kept, clock);
      }
    }
    if (!more.isEmpty()) {
      var unused = decide(-1, clock, new LimitRequest(ANY, more, Optional.empty()), Mode.RECORD, 0);
    }
    return new Answer.GivenBack(found);
  }

  private Answer renew(List<ChargeModel.Taken> units, long clock) {
    long renewed = 0;
    for (int i = 0; i < units.size(); i++) {
      Charge charge = units.get(i).charge();
      if (charge.stack().rules().get(0) instanceof ConcurrencyLimitRule && !units.get(i).guard()) {
        ValueModel value = values.getOrDefault(charge.key(), new ValueModel());
        if (units.get(i).resets() == resets(charge.key())) {
          int unused = value.log.giveBack(units.get(i).stamp(), charge.cost());
        }
        if (value.isEmpty()) {
          value = new ValueModel();
        }
        long now = value.now(clock);
        value.log.take(now, 0, charge.cost(), ChargeModel.logged(charge), Long.MAX_VALUE);
        value.written(clock);
        values.put(charge.key(), value);
        units.set(i, units.get(i).renewedAt(now, resets(charge.key())));
        renewed += charge.cost();
      }
    }
    return new Answer.GivenBack(renewed);
  }

  private long giveBack(ChargeModel.Taken one, int some, long clock) {
    Charge charge = one.charge();
    if (one.resets() < resets(charge.key())) {
      return 0;
    }
    int kept = charge.cost() - some;
    ValueModel value = values.get(charge.key());
    if (value == null) {
      return 0;
    }
    long found = 0;
    if (!ChargeModel.logged(charge).isEmpty()) {
      found = value.log.giveBack(one.stamp(), (int) Math.max(0, one.ofLog() - kept));
    }
    long given = value.giveBack(ChargeModel.counted(charge), one, kept, clock);
    if (value.isEmpty()) {
      values.remove(charge.key());
    }
    return Math.max(found, given);
  }
}
