// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What every store must answer, written to be read: lists of units, each looked at every time. It
 * shares no code with the stores, and nothing in it ever expires by itself.
 */
public final class ReferenceModel {

  /** The units of one key, oldest first, each by the microsecond it was taken at. */
  private static final class Log {
    final List<Long> units = new ArrayList<>();
    long shift;
    long keep;
    long horizon;

    long now(long clock) {
      return units.isEmpty() ? clock : Math.max(clock + shift, units.get(units.size() - 1));
    }

    /** The units that a rule still counts. */
    List<Long> within(long now, Rule rule) {
      int first = units.size();
      while (first > 0 && units.get(first - 1) > now - micros(rule)) {
        first--;
      }
      return units.subList(first, units.size());
    }
  }

  private record Taken(Charge charge, long stamp, boolean guard, boolean[] given) {}

  private final Map<Key, Log> logs = new HashMap<>();
  private final Map<Integer, List<Taken>> taken = new HashMap<>();

  /** Runs one step, and answers as {@link Scenario#run} does. */
  public Object apply(Step step) {
    if (step.action() instanceof Step.Decide decide) {
      return decide(step.id(), step.clock(), decide.request(), decide.mode());
    }
    if (step.action() instanceof Step.GiveBack back) {
      return giveBack(taken.getOrDefault(back.of(), List.of()), back.guardOnly());
    }
    ((Step.Reset) step.action()).keys().forEach(logs::remove);
    return Answer.DONE;
  }

  private Answer decide(int id, long clock, LimitRequest request, Mode mode) {
    boolean limited = false;
    boolean duplicate = false;
    for (Charge charge : request.allCharges()) {
      boolean refused = mode != Mode.RECORD && refuses(clock, charge);
      boolean guard = charge == request.duplicate().orElse(null);
      limited |= refused && !guard;
      duplicate |= refused && guard;
    }
    Outcome outcome = limited ? Outcome.LIMITED : duplicate ? Outcome.DUPLICATE : Outcome.ALLOWED;
    boolean takes = outcome == Outcome.ALLOWED && mode != Mode.PEEK;
    List<RuleVerdict> rules = new ArrayList<>();
    for (Charge charge : request.charges()) {
      charge.stack().rules().forEach(rule -> rules.add(rule(clock, charge, rule, mode, takes)));
    }
    Optional<RuleVerdict> guard =
        request
            .duplicate()
            .map(charge -> rule(clock, charge, charge.stack().rules().get(0), mode, takes));
    List<Taken> units = new ArrayList<>();
    for (Charge charge : request.allCharges()) {
      if (takes) {
        boolean isGuard = charge == request.duplicate().orElse(null);
        units.add(new Taken(charge, take(clock, charge), isGuard, new boolean[1]));
      } else if (mode != Mode.PEEK && logs.containsKey(charge.key())) {
        Log log = logs.get(charge.key());
        log.shift = log.now(clock) - clock;
      }
    }
    taken.put(id, units);
    return new Answer.Decided(outcome, rules, guard);
  }

  private Log log(Key key) {
    return logs.getOrDefault(key, new Log());
  }

  private boolean refuses(long clock, Charge charge) {
    Log log = log(charge.key());
    return charge.stack().rules().stream()
        .anyMatch(rule -> log.within(log.now(clock), rule).size() + charge.cost() > rule.count());
  }

  private RuleVerdict rule(long clock, Charge charge, Rule rule, Mode mode, boolean takes) {
    Log log = log(charge.key());
    long now = log.now(clock);
    List<Long> used = log.within(now, rule);
    long left = rule.count() - used.size();
    boolean short0 = left < charge.cost();
    long window = micros(rule);
    Optional<Long> wait;
    if (!short0) {
      wait = Optional.of(used.isEmpty() ? window : used.get(0) + window - now);
    } else if (mode == Mode.RECORD) {
      List<Long> after = new ArrayList<>(used);
      for (int i = 0; i < charge.cost(); i++) {
        after.add(now);
      }
      wait = untilAtMost(after, rule.count() - 1, now, window);
    } else {
      wait = untilAtMost(used, rule.count() - charge.cost(), now, window);
    }
    long sinceNewest =
        log.units.isEmpty() ? Long.MAX_VALUE : now - log.units.get(log.units.size() - 1);
    boolean violated = short0 && mode != Mode.RECORD;
    return new RuleVerdict(
        rule,
        violated,
        Math.max(0, takes ? left - charge.cost() : left),
        violated ? wait.map(ReferenceModel::duration) : Optional.empty(),
        duration(takes ? window : sinceNewest >= window ? 0 : window - sinceNewest),
        duration(wait.orElse(window)));
  }

  /** The time until so few units are left that there are at most these; empty if never. */
  private static Optional<Long> untilAtMost(List<Long> units, long most, long now, long window) {
    if (most < 0) {
      return Optional.empty();
    }
    int left = units.size();
    long wait = 0;
    for (long unit : units) {
      if (left <= most) {
        break;
      }
      left--;
      wait = unit + window - now;
    }
    return Optional.of(wait);
  }

  private long take(long clock, Charge charge) {
    Log log = logs.computeIfAbsent(charge.key(), key -> new Log());
    long now = log.now(clock);
    log.shift = now - clock;
    for (Rule rule : charge.stack().rules()) {
      log.keep = Math.max(log.keep, rule.count());
      log.horizon = Math.max(log.horizon, micros(rule));
    }
    log.units.removeIf(unit -> unit <= now - log.horizon);
    for (int i = 0; i < charge.cost(); i++) {
      log.units.add(now);
    }
    if (log.units.size() > log.keep) {
      log.units.subList(0, log.units.size() - (int) log.keep).clear();
    }
    return now;
  }

  private Answer giveBack(List<Taken> units, boolean guardOnly) {
    long found = 0;
    for (Taken one : units) {
      if (one.given()[0] || (guardOnly && !one.guard())) {
        continue;
      }
      one.given()[0] = true;
      Log log = log(one.charge().key());
      for (int i = 0; i < one.charge().cost() && log.units.remove((Object) one.stamp()); i++) {
        found++;
      }
      if (log.units.isEmpty()) {
        logs.remove(one.charge().key());
      }
    }
    return new Answer.GivenBack(found);
  }

  private static long micros(Rule rule) {
    return rule.window().toNanos() / 1_000;
  }

  private static Duration duration(long micros) {
    return Duration.of(micros, ChronoUnit.MICROS);
  }
}
