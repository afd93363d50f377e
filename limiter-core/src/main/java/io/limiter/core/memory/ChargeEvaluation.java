// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.StateKey;
import io.limiter.core.memory.UnitLog.LogTable;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The evaluation of one charge in one decision. It reads the log and the ban itself; a {@link
 * CellEvaluation} does the rest. Times are microseconds. All methods are called under the lock of
 * the stripe, except those that {@link DecisionReadout} describes.
 */
final class ChargeEvaluation {

  private static final long[] NOTHING = {};

  final Charge charge;
  final int stripe;

  /**
   * For each rule with a log: units left, then the time; as {@link DecisionReadout} describes them.
   */
  private final long[] found;

  private final RuleStack stack;
  private final boolean logs;
  private final @Nullable CellEvaluation cells;

  private LogTable table;
  private StateKey key;

  /** Null unless the charge has a ban that is enforced. */
  private @Nullable StateKey banKey;

  private BanState ban = BanState.NONE;
  private boolean banChanges;
  private long banMicros;
  private boolean kept = true;
  private boolean admits;
  private @Nullable UnitLog known;
  private long clockMicros;
  private long nowMicros;
  private long sinceNewestMicros = Long.MAX_VALUE;

  /** For how long the units of a lease may be spent; 0 if the call takes no lease. */
  private long leaseMicros;

  /** The stamp of the units in the log. */
  private long stampMicros;

  /** The units of a lease that were given back. */
  private int givenBack;

  ChargeEvaluation(Charge charge, int stripe, LogTable subjects) {
    this.charge = charge;
    this.stripe = stripe;
    this.key = charge.key();
    this.table = subjects;
    this.stack = charge.stack();
    this.logs = stack.logs() > 0;
    this.found = logs ? new long[2 * stack.rules().size()] : NOTHING;
    this.cells = stack.cells() > 0 ? new CellEvaluation(charge) : null;
    this.banKey = stack.ban().isPresent() && !charge.observed() ? key.ban() : null;
  }

  private @Nullable CellReadout readout(int rule) {
    return cells == null || stack.isLog(rule) ? null : cells.readout(stack.cellIndex(rule));
  }

  long remainingBefore(int rule) {
    CellReadout readout = readout(rule);
    return readout == null ? found[2 * rule] : readout.remainingBefore();
  }

  long retryAfterMicros(int rule, boolean taken) {
    CellReadout readout = readout(rule);
    return readout == null ? found[2 * rule + 1] : readout.retryAfterMicros(taken);
  }

  long resetAfterMicros(int rule, boolean taken) {
    CellReadout readout = readout(rule);
    if (readout != null) {
      return readout.resetAfterMicros(taken);
    }
    long windowMicros = stack.windowMicros(rule);
    return taken ? windowMicros + aheadMicros() : Math.max(0, windowMicros - sinceNewestMicros);
  }

  /** By how much the stamp of this call's units in the log is later than now. */
  private long aheadMicros() {
    return Math.max(leaseMicros, -sinceNewestMicros);
  }

  long delayMicros(int rule) {
    CellReadout readout = readout(rule);
    return readout == null ? 0 : readout.delayMicros();
  }

  long banMicros() {
    return banMicros;
  }

  /** Finds the state of the key. Returns false if there is none and no room for it. */
  boolean find(long clockMicros) {
    known = table.find(key, clockMicros);
    return known != null || !table.full();
  }

  /** Uses the shared state of the overflow. */
  void share(LogTable overflows, StateKey overflow, long clockMicros) {
    table = overflows;
    key = overflow;
    banKey = banKey == null ? null : new StateKey(overflow.tag() + ".ban", overflow.name());
    known = overflows.find(overflow, clockMicros);
  }

  /** Takes the units in advance. */
  void lease(long micros) {
    leaseMicros = micros;
    if (cells != null) {
      cells.lease(micros);
    }
  }

  /** For how long the units of a lease may be spent. */
  long leaseMicros() {
    return cells == null ? leaseMicros : cells.leaseMicros();
  }

  /** Leaves the charge without any state. */
  void forgo() {
    kept = false;
  }

  /** Reads the state. Returns whether every rule admits the charge, and no ban is in force. */
  boolean read(long atMicros, Mode mode) {
    clockMicros = atMicros;
    nowMicros = known == null ? clockMicros : known.nowMicros(clockMicros);
    readBan(mode);
    boolean passes = !logs || readLog(mode);
    if (cells != null) {
      passes = cells.read(known == null ? null : known.cells(), nowMicros, mode, passes);
    }
    if (!passes && mode == Mode.ACQUIRE && leaseMicros == 0 && banKey != null && banMicros == 0) {
      BanRule rule = stack.ban().orElseThrow();
      ban = ban.violated(rule, clockMicros);
      banMicros = ban.restMicros(rule, clockMicros);
      banChanges = true;
    }
    admits = passes && banMicros == 0;
    return admits;
  }

  private void readBan(Mode mode) {
    StateKey banned = banKey;
    UnitLog stored = banned == null || mode == Mode.RECORD ? null : table.find(banned, clockMicros);
    if (stored != null) {
      ban = stored.ban().at(clockMicros);
      banChanges = leaseMicros == 0 && !ban.equals(stored.ban());
      banMicros = ban.restMicros(stack.ban().orElseThrow(), clockMicros);
    }
  }

  /** Writes the ban, if there is room for it. */
  private void writeBan() {
    StateKey banned = banKey;
    if (banned != null && banChanges && kept) {
      UnitLog stored = table.peek(banned);
      if (stored != null || !table.full()) {
        UnitLog into = stored == null ? new UnitLog() : stored;
        if (stored == null) {
          table.put(banned, into);
        }
        into.remember(ban, stack.ban().orElseThrow());
      }
    }
  }

  /** What {@link #read} returned. */
  boolean admits() {
    return admits;
  }

  /** Records past units at their time, or at that of the last write if that is later. */
  void record(long thenMicros) {
    long atMicros = known == null ? thenMicros : Math.max(thenMicros, known.clockOfLastWrite());
    var unused = read(atMicros, Mode.RECORD);
    write(cells == null ? null : cells.recorded());
  }

  private boolean readLog(Mode mode) {
    UnitLog log = known;
    int size = log == null ? 0 : log.size();
    if (log != null && size > 0) {
      sinceNewestMicros = nowMicros - log.newestMicros();
    }
    boolean admitted = true;
    List<Rule> rules = stack.rules();
    for (int r = 0; r < rules.size(); r++) {
      if (!stack.isLog(r)) {
        continue;
      }
      long count = rules.get(r).count();
      long window = stack.windowMicros(r);
      int first = log == null ? 0 : log.firstYounger(nowMicros, window);
      long remaining = count - size + first;
      // The unit that must leave first: for units to come back, and this call to pass again,
      long leaves = first;
      if (mode != Mode.PEEK && remaining < 2L * charge.cost()) {
        leaves += 2L * charge.cost() - remaining - 1;
      }
      if (remaining < charge.cost()) {
        // for this call to pass, or, after a record, for any call to pass.
        leaves = size + charge.cost() - count - (mode == Mode.RECORD ? 0 : 1);
        admitted &= mode == Mode.RECORD;
      }
      found[2 * r] = remaining;
      if (log != null && leaves < size) {
        found[2 * r + 1] = window - (nowMicros - log.stampMicros((int) leaves));
      } else {
        boolean never = remaining < charge.cost() && mode != Mode.RECORD;
        found[2 * r + 1] = never ? DecisionReadout.NEVER : window + aheadMicros();
      }
    }
    return admitted;
  }

  /** Takes the units. */
  void take() {
    writeBan();
    if (kept) {
      write(cells == null ? null : cells.taken()).taken(clockMicros);
    }
  }

  /** Writes the units to the log, and the cells with them. */
  private UnitLog write(Cell @Nullable [] after) {
    UnitLog into = known();
    if (logs) {
      stampMicros =
          into.take(
              nowMicros,
              nowMicros + leaseMicros,
              charge.cost(),
              stack.kept(),
              stack.horizonMicros());
    }
    if (after != null) {
      into.remember(after, nowMicros, stack.banMicros());
    }
    into.wrote(nowMicros, nowMicros - clockMicros);
    return into;
  }

  private UnitLog known() {
    if (known == null) {
      known = new UnitLog();
      table.put(key, known);
    }
    return known;
  }

  /**
   * Writes the state after a denied call: a violation, the start of time, or the shift. Without
   * that, a log whose clock was set back by an hour would deny for an hour.
   */
  void deny() {
    writeBan();
    Cell[] changed = cells == null || !kept || leaseMicros > 0 ? null : cells.denied();
    if (changed != null) {
      UnitLog into = known();
      into.remember(changed, nowMicros, stack.banMicros());
      into.wrote(nowMicros, nowMicros - clockMicros);
    } else if (known != null) {
      known.shiftTo(nowMicros - clockMicros);
    }
  }

  /**
   * Gives back units that {@link #take} took, as far as they are still there; some stay if the call
   * costs less than reserved.
   */
  int giveBack(int units, long atMicros) {
    UnitLog from = kept ? table.peek(key) : null;
    if (from == null) {
      return 0;
    }
    int lower = charge.cost() - units;
    int given = logs ? from.giveBack(stampMicros, Math.max(0, loggedUnits() - lower)) : 0;
    if (cells != null && from.hasCellsSince(nowMicros)) {
      given =
          Math.max(
              given, cells.giveBack(from.lowered(), lower, givenBack, from.nowMicros(atMicros)));
    }
    givenBack += units;
    if (from.size() == 0 && from.cells() == null) {
      table.remove(key);
    }
    return given;
  }

  /** See {@link RuleStack#loggedUnits}. */
  private int loggedUnits() {
    int longest = stack.longestLog();
    return stack.loggedUnits(
        charge.cost(), stack.rules().get(longest).count() - remainingBefore(longest));
  }

  /**
   * Removes the units from the log and takes them again. Returns how many: none if the key has no
   * state by now and there is no room for it.
   */
  int renew(long atMicros) {
    known = table.peek(key);
    if (known == null && table.full()) {
      return 0;
    }
    long most = stack.kept();
    if (known != null) {
      long laterMicros = known.nowMicros(atMicros);
      most = Math.max(most, known.size() - known.firstYounger(laterMicros, stack.horizonMicros()));
      var unused = known.giveBack(stampMicros, charge.cost());
      if (known.size() == 0) { // as after a refund of all units
        table.remove(key);
        known = null;
        most = stack.kept();
      }
    }
    UnitLog into = known();
    nowMicros = into.nowMicros(atMicros);
    stampMicros = into.take(nowMicros, charge.cost(), most, stack.horizonMicros());
    into.wrote(nowMicros, nowMicros - atMicros);
    return charge.cost();
  }
}
