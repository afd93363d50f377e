// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.Charge;
import io.limiter.core.RuleVerdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.store.Mode;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One charge of a call: its evaluation, and its effect. */
final class ChargeModel {

  private final Charge charge;
  private final boolean guard;
  private final Mode mode;
  private final long clock;
  private final LogModel log;
  private final CellsModel known;

  /** The state under these rules, for cells to be written; and the state at the current time. */
  private final CellsModel counted;

  private final List<CellModel> cells = new ArrayList<>();
  private final Optional<BanRule> ban;
  private final long cellTime;
  private boolean nearer;

  ChargeModel(Charge charge, boolean guard, Mode mode, long clock, LogModel log, CellsModel known) {
    this.charge = charge;
    this.guard = guard;
    this.mode = mode;
    this.clock = clock;
    this.log = log;
    this.known = known;
    this.ban = charge.stack().ban();
    this.counted = known.under(counted(charge));
    this.cellTime = known.now(clock);
    for (int c = 0; c < counted.cells.size(); c++) {
      cells.add(counted.cells.get(c).copy());
      cells.get(c).proceed(counted(charge).get(c), cellTime);
      cells.get(c).ask(charge.cost());
    }
    if (ban.isPresent() && (!charge.observed() || mode == Mode.RECORD)) {
      boolean bannedBefore = counted.ban.restMicros(ban.get(), cellTime) > 0;
      if (mode == Mode.ACQUIRE && !bannedBefore && violated()) {
        counted.ban.violate(ban.get(), cellTime);
        nearer = true;
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
    return charge.stack().rules().stream().filter(rule -> !(rule instanceof LoggedRule)).toList();
  }

  private boolean hasCells() {
    return !cells.isEmpty() || ban.isPresent();
  }

  private CellModel cell(Rule rule) {
    return cells.get(counted(charge).indexOf(rule));
  }

  private long left(Rule rule) {
    return rule instanceof LoggedRule logged
        ? log.left(log.now(clock), logged)
        : cell(rule).remaining();
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
    return ban.isEmpty() || charge.observed() || mode == Mode.RECORD
        ? 0
        : counted.ban.restMicros(ban.get(), cellTime);
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
      long now = log.now(clock);
      wait =
          !isShort
              ? again(now, logged, left, alone)
              : violated
                  ? log.untilLeft(now, logged, charge.cost(), 0)
                  : log.untilLeft(now, logged, 1, charge.cost());
      reset = takes ? Plain.window(rule) : log.untilUnused(now, logged);
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
            .resetAfter(concurrencyLimit && reset > 0 ? rule.window() : Plain.duration(reset))
            .effectiveWindow(
                concurrencyLimit ? rule.window() : wait.map(Plain::duration).orElse(rule.window()))
            .observed(charge.observed());
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
        ? log.untilLeft(now, rule, charge.cost(), alone ? charge.cost() : 0)
        : Optional.of(log.untilMore(now, rule));
  }

  /** The call is admitted. */
  Taken take(ReferenceModel state) {
    long logTime = log.now(clock);
    Optional<BigInteger> departure = departure();
    List<Long> ofCells = cells.stream().map(this::units).toList();
    long ofLog = logged(charge).isEmpty() ? 0 : log.more(logTime, charge.cost(), logged(charge));
    if (!logged(charge).isEmpty()) {
      log.take(clock, charge.cost(), logged(charge));
      state.put(charge.key(), log);
    }
    if (hasCells()) {
      counted.cells.clear();
      for (CellModel cell : cells) {
        cell.take(units(cell));
        counted.cells.add(cell);
      }
      counted.written(clock, ban);
      state.put(charge.key(), counted);
    }
    return new Taken(
        charge,
        guard,
        logTime,
        cellTime,
        ban.isPresent(),
        departure,
        ofLog,
        ofCells,
        state.resets(charge.key()));
  }

  /**
   * The effect of a denied call: violations, the start of time for a new subject, and a clock set
   * back.
   */
  void deny(ReferenceModel state) {
    if (!logged(charge).isEmpty() && !log.isEmpty()) {
      log.repair(clock);
    }
    boolean begins = false;
    for (int c = 0; c < cells.size(); c++) {
      long left = cells.get(c).remaining();
      boolean waits = left < charge.cost() && charge.cost() <= counted(charge).get(c).count();
      if (waits && cells.get(c).begin()) {
        counted.cells.set(c, cells.get(c));
        begins = true;
      }
    }
    if (nearer || begins) {
      counted.written(clock, ban);
      state.put(charge.key(), counted);
    } else if (hasCells()) {
      known.repair(clock);
    }
  }

  /**
   * The units that a call took.
   *
   * @param ofLog the number of units by which the log grew for its rules
   * @param ofCells the units that it took from each cell
   * @param resets how often the key had been reset by then
   */
  record Taken(
      Charge charge,
      boolean guard,
      long logTime,
      long cellTime,
      boolean bans,
      Optional<BigInteger> departure,
      long ofLog,
      List<Long> ofCells,
      int resets) {

    Taken renewedAt(long time, int resetsByThen) {
      return new Taken(
          charge, guard, time, cellTime, bans, departure, ofLog, ofCells, resetsByThen);
    }
  }
}
