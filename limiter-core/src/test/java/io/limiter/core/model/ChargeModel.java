// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.Charge;
import io.limiter.core.Mode;
import io.limiter.core.RuleVerdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.Rule.LoggedRule;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** One charge of a call: its evaluation, and its effect. */
final class ChargeModel {

  private final Charge charge;
  private final boolean guard;
  private final Mode mode;
  private final long clock;
  private final ValueModel known;
  private final LogModel log;

  /** The cells at the current time. */
  private final List<CellModel> cells = new ArrayList<>();

  private final Optional<BanRule> ban;
  private final BanModel banned;
  private final long now;

  /** For how long the units of a lease may be spent; 0 if the call takes no lease. */
  private final long lease;

  ChargeModel(
      Charge charge,
      boolean guard,
      Mode mode,
      long lease,
      long clock,
      ValueModel known,
      BanModel banned) {
    this.lease = lease;
    this.charge = charge;
    this.guard = guard;
    this.mode = mode;
    this.clock = clock;
    this.known = known;
    this.log = known.log;
    boolean counts = mode == Mode.ACQUIRE && lease == 0; // a denied lease is no violation
    this.banned = counts ? banned : banned.copy();
    this.ban = charge.observed() || mode == Mode.RECORD ? Optional.empty() : charge.stack().ban();
    this.now = known.now(clock);
    List<Rule> rules = counted(charge);
    for (int c = 0; c < rules.size(); c++) {
      cells.add(known.cells.isEmpty() ? CellModel.of(rules.get(c)) : known.cells.get(c).copy());
      cells.get(c).proceed(rules.get(c), now);
      cells.get(c).ask(charge.cost());
      cells.get(c).lease(lease);
    }
    if (ban.isPresent()) {
      this.banned.proceed(clock);
      if (counts && banned.restMicros(ban.get(), clock) == 0 && violated()) {
        banned.violate(ban.get(), clock);
      }
    }
  }

  static List<LoggedRule> logged(Charge charge) {
    return charge.stack().rules().stream()
        .filter(rule -> rule instanceof LoggedRule)
        .map(rule -> (LoggedRule) rule)
        .toList();
  }

  static List<Rule> counted(Charge charge) {
    return IntStream.range(0, charge.stack().cells()).mapToObj(charge.stack()::cellRule).toList();
  }

  private CellModel cell(Rule rule) {
    return cells.get(counted(charge).indexOf(rule));
  }

  private long left(Rule rule) {
    return rule instanceof LoggedRule logged ? log.left(now, logged) : cell(rule).remaining();
  }

  boolean violated() {
    return mode != Mode.RECORD
        && charge.stack().rules().stream().anyMatch(rule -> left(rule) < charge.cost());
  }

  /** Whether the rules deny the call. */
  boolean denies() {
    return violated() && !charge.observed();
  }

  /** Whether it takes its units if the call is admitted. */
  boolean takes() {
    return !violated() || !charge.observed();
  }

  long bannedFor() {
    return ban.map(rule -> banned.restMicros(rule, clock)).orElse(0L);
  }

  /** A record takes no more units than there are, so that no subject is ever in debt. */
  private long units(CellModel cell) {
    return mode == Mode.RECORD
        ? Math.min(charge.cost(), Math.max(0, cell.remaining()))
        : charge.cost();
  }

  /** The time for which the call waits, before it takes anything. */
  long delayMicros() {
    return charge.observed()
        ? 0
        : cells.stream()
            .mapToLong(cell -> cell instanceof LeakyModel leaky ? leaky.delayMicros() : 0)
            .max()
            .orElse(0);
  }

  private Optional<BigInteger> departure() {
    for (CellModel cell : cells) {
      if (cell instanceof LeakyModel leaky && units(cell) > 0) {
        return leaky.departure();
      }
    }
    return Optional.empty();
  }

  RuleVerdict verdict(Rule rule, boolean takes) {
    long left = left(rule);
    boolean isShort = left < charge.cost();
    boolean violated = isShort && mode != Mode.RECORD;
    boolean alone = mode != Mode.PEEK && !isShort; // what this rule would take if it alone decided
    Optional<Long> wait;
    long reset;
    if (rule instanceof LoggedRule logged) {
      wait =
          !isShort
              ? again(now, logged, left, alone)
              : violated
                  ? log.untilLeft(now, logged, charge.cost(), 0, 0)
                  : log.untilLeft(now, logged, 1, charge.cost(), 0);
      reset =
          takes ? log.stamp(now, lease) + Plain.window(rule) - now : log.untilUnused(now, logged);
    } else {
      CellModel cell = cell(rule).copy();
      if (takes) {
        cell.take(units(cell));
      }
      CellModel then = cell(rule).copy();
      if (alone) {
        then.take(units(then));
      }
      wait =
          !isShort
              ? Optional.of(
                  then.remaining() < charge.cost()
                      ? then.microsUntilLeft(charge.cost())
                      : then.microsUntilMore())
              : violated && charge.cost() > rule.capacity()
                  ? Optional.empty()
                  : Optional.of(cell.microsUntilLeft(violated ? charge.cost() : 1));
      reset = cell.microsUntilReplenished();
    }
    boolean concurrencyLimit = rule instanceof ConcurrencyLimitRule;
    RuleVerdict.Builder verdict =
        RuleVerdict.of(rule)
            .remaining(Math.max(0, takes ? left - charge.cost() : left))
            .taken(takes ? charge.cost() : 0)
            .resetAfter(concurrencyLimit && reset > 0 ? rule.window() : Plain.duration(reset))
            .effectiveWindow(
                concurrencyLimit ? rule.window() : wait.map(Plain::duration).orElse(rule.window()))
            .observed(charge.observed())
            .warnAt(charge.stack().warnAt());
    if (violated && wait.isEmpty()) {
      verdict.tooCostly();
    } else if (violated && concurrencyLimit) {
      verdict.violated();
    } else if (violated) {
      verdict.violatedFor(Plain.duration(wait.orElseThrow()));
    }
    return verdict.build();
  }

  private Optional<Long> again(long now, LoggedRule rule, long left, boolean alone) {
    long rest = alone ? left - charge.cost() : left;
    return rest < charge.cost()
        ? log.untilLeft(now, rule, charge.cost(), alone ? charge.cost() : 0, lease)
        : Optional.of(log.untilMore(now, rule, lease));
  }

  /** The call is admitted. */
  Taken take(ReferenceModel state) {
    Optional<BigInteger> departure = departure();
    List<Long> ofCells = cells.stream().map(this::units).toList();
    long ofLog = logged(charge).isEmpty() ? 0 : log.more(now, charge.cost(), logged(charge));
    long stamp = log.stamp(now, lease);
    if (!logged(charge).isEmpty()) {
      log.take(now, lease, charge.cost(), logged(charge));
    }
    for (CellModel cell : cells) {
      cell.take(units(cell));
    }
    known.write(cells, clock);
    known.written(clock);
    state.put(charge.key(), known);
    return new Taken(
        charge, guard, now, stamp, departure, ofLog, ofCells, state.resets(charge.key()));
  }

  /** For how long the units of an admitted lease may be spent. */
  long spendable() {
    return cells.stream().mapToLong(cell -> cell.end() - now).reduce(lease, Math::min);
  }

  /** The effect of a denied call: the start of time for a new subject, and a clock set back. */
  void deny(ReferenceModel state) {
    List<CellModel> begun = new ArrayList<>(known.cells);
    boolean begins = false;
    for (int c = 0; c < cells.size(); c++) {
      long left = cells.get(c).remaining();
      boolean waits =
          lease == 0 && left < charge.cost() && charge.cost() <= counted(charge).get(c).count();
      if (known.cells.isEmpty()) {
        begun.add(CellModel.of(counted(charge).get(c)));
      }
      if (waits && cells.get(c).begin()) {
        begun.set(c, cells.get(c));
        begins = true;
      }
    }
    if (begins) {
      known.write(begun, clock);
      known.written(clock);
      state.put(charge.key(), known);
    } else {
      known.repair(clock);
    }
  }

  /**
   * The units that a call took.
   *
   * @param stamp that of the units in the log
   * @param ofLog the number of units by which the log grew for its rules
   * @param ofCells the units that it took from each cell
   * @param resets how often the key had been reset by then
   */
  record Taken(
      Charge charge,
      boolean guard,
      long time,
      long stamp,
      Optional<BigInteger> departure,
      long ofLog,
      List<Long> ofCells,
      int resets) {

    Taken renewedAt(long later, int resetsByThen) {
      return new Taken(charge, guard, later, later, departure, ofLog, ofCells, resetsByThen);
    }

    /** What is left of the units of a lease, once some were given back. */
    Taken without(int units) {
      return new Taken(
          charge.withCost(charge.cost() - units),
          guard,
          time,
          stamp,
          departure,
          ofLog - units,
          ofCells.stream().map(all -> all - units).toList(),
          resets);
    }
  }
}
