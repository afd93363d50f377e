// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.memory.UnitLog.LogTable;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellReadout;
import io.limiter.core.state.Cells;
import io.limiter.core.store.DecisionReadout;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The evaluation of one charge in one decision. Times are microseconds. All methods are called
 * under the lock of the stripe, except those that {@link DecisionReadout} describes, and {@link
 * #findKnown}, {@link #read} and {@link #denialWrites}, which change only this evaluation and may
 * be repeated.
 */
@SuppressWarnings("NullAway.Init") // find is called before all else
class ChargeEvaluation implements DecisionReadout {

  private static final long[] NOTHING = {};

  final Charge charge;

  // The mode, as booleans: every admitted call keeps its evaluations until it ends.
  private final boolean peeks;
  private final boolean records;

  /** The evaluation of the next charge of the call. */
  final @Nullable ChargeEvaluation next;

  /** The state of the key: that of no units if there is none. */
  private UnitLog log;

  /**
   * The time since the newest unit of the log; then for each rule with a log units left and the
   * time, as {@link DecisionReadout} describes them.
   */
  private final long[] found;

  /** The numbers of the cells that were read, which are evaluated again when a verdict is read. */
  private long[] numbers;

  private @Nullable BanEvaluation ban;
  private boolean kept = true;
  private boolean admits;
  private long nowMicros;

  ChargeEvaluation(Charge charge, Mode mode, @Nullable ChargeEvaluation next) {
    this.charge = charge;
    this.peeks = mode == Mode.PEEK;
    this.records = mode == Mode.RECORD;
    this.next = next;
    this.found =
        charge.stack().logs() > 0 ? new long[1 + 2 * charge.stack().rules().size()] : NOTHING;
  }

  /** The evaluation of units that are taken in advance. */
  static final class OfLease extends ChargeEvaluation {

    private final long leaseMicros;
    private int givenBack;

    OfLease(Charge charge, long leaseMicros) {
      super(charge, Mode.ACQUIRE, null);
      this.leaseMicros = leaseMicros;
    }

    @Override
    long leaseMicros() {
      return leaseMicros;
    }

    @Override
    int giveBack(int units, long atMicros) {
      int given = giveBack(units, givenBack, atMicros);
      givenBack += units;
      return given;
    }
  }

  /** For how long the units are leased; 0 if the call takes no lease. */
  long leaseMicros() {
    return 0;
  }

  private RuleStack stack() {
    return charge.stack();
  }

  private CellReadout readout(int cell) {
    Cell evaluated = cells().get(cell);
    return leaseMicros() > 0
        ? evaluated.readLease(numbers, nowMicros, charge.cost(), leaseMicros())
        : evaluated.read(numbers, nowMicros, charge.cost(), records ? Mode.RECORD : Mode.ACQUIRE);
  }

  /** Also after the lock: another call may have replaced those of the log, by immutable ones. */
  private Cells cells() {
    return log.cells(stack());
  }

  @Override
  public long remainingBefore(int rule) {
    int cell = stack().cellIndex(rule);
    return cell < 0 ? found[1 + 2 * rule] : readout(cell).remainingBefore();
  }

  @Override
  public long retryAfterMicros(int rule, boolean taken) {
    int cell = stack().cellIndex(rule);
    return cell < 0 ? found[2 + 2 * rule] : readout(cell).retryAfterMicros(taken);
  }

  @Override
  public long resetAfterMicros(int rule, boolean taken) {
    int cell = stack().cellIndex(rule);
    if (cell >= 0) {
      return readout(cell).resetAfterMicros(taken);
    }
    long windowMicros = stack().windowMicros(rule);
    return taken ? windowMicros + aheadMicros() : Math.max(0, windowMicros - found[0]);
  }

  /** By how much the stamp of this call's units in the log is later than now. */
  private long aheadMicros() {
    return Math.max(leaseMicros(), -found[0]);
  }

  @Override
  public long delayMicros(int rule) {
    int cell = stack().cellIndex(rule);
    return cell < 0 ? 0 : readout(cell).delayMicros();
  }

  @Override
  public long banMicros() {
    return ban == null ? 0 : ban.micros();
  }

  @Override
  public long nowMicros() {
    return nowMicros;
  }

  /**
   * Finds the state of the key. Returns false if there is none and no room for it; a subject with a
   * ban has room, so that the ban holds.
   */
  boolean find(LogTable table, long clockMicros) {
    if (findKnown(table, clockMicros)) {
      return true;
    }
    table.makeRoom(charge.key(), clockMicros);
    log = new UnitLog(table, charge.key());
    return !table.full() || table.find(charge.key().ban(), clockMicros) != null;
  }

  /** Finds the state of the key, if there is one. */
  boolean findKnown(LogTable table, long clockMicros) {
    UnitLog known = table.find(charge.key(), clockMicros);
    if (known == null) {
      return false;
    }
    log = known;
    return true;
  }

  /** Uses the shared state of the overflow. */
  void share(UnitLog overflow) {
    log = overflow;
  }

  /** Leaves the charge without any state. */
  void forgo() {
    kept = false;
  }

  /** Reads the state. Returns whether every rule admits the charge, and no ban is in force. */
  boolean read(long clockMicros) {
    nowMicros = log.nowMicros(clockMicros);
    if (stack().ban().isPresent() && !charge.observed() && !records) {
      ban = new BanEvaluation(stack().ban().get(), log.table(), banKey(), clockMicros);
    }
    boolean passes = found.length == 0 || readLog();
    numbers = stack().cells() == 0 ? NOTHING : log.numbers(cells());
    for (int c = 0; c < stack().cells(); c++) {
      passes &= readout(c).admits() || records;
    }
    if (ban != null && !passes && !peeks && leaseMicros() == 0) {
      ban.violate(clockMicros);
    }
    admits = passes && banMicros() == 0;
    return admits;
  }

  private StateKey banKey() {
    StateKey key = log.key();
    return key.equals(charge.key()) ? key.ban() : new StateKey(key.tag() + ".ban", key.name());
  }

  @Override
  public boolean admits() {
    return admits;
  }

  @Override
  public Status status() {
    if (admits) {
      return Status.ADMITTED;
    }
    return banMicros() > 0 ? Status.BANNED : Status.LIMITED;
  }

  private boolean readLog() {
    int size = log.size();
    found[0] = size > 0 ? nowMicros - log.newestMicros() : Long.MAX_VALUE;
    int cost = charge.cost();
    boolean admitted = true;
    List<Rule> rules = stack().rules();
    for (int r = 0; r < rules.size(); r++) {
      if (!stack().isLog(r)) {
        continue;
      }
      long count = rules.get(r).count();
      long window = stack().windowMicros(r);
      int first = log.firstYounger(nowMicros, window);
      long remaining = count - size + first;
      // The unit that must leave first: for units to come back, and this call to pass again,
      long leaves = first;
      if (!peeks && remaining < 2L * cost) {
        leaves += 2L * cost - remaining - 1;
      }
      if (remaining < cost) {
        // for this call to pass, or, after a record, for any call to pass.
        leaves = size + cost - count - (records ? 0 : 1);
        admitted &= records;
      }
      found[1 + 2 * r] = remaining;
      if (leaves < size) {
        found[2 + 2 * r] = window - (nowMicros - log.stampMicros((int) leaves));
      } else {
        boolean never = remaining < cost && !records;
        found[2 + 2 * r] = never ? DecisionReadout.NEVER : window + aheadMicros();
      }
    }
    return admitted;
  }

  /** Takes the units. */
  void take(long clockMicros) {
    if (!kept) {
      return;
    }
    writeBan(clockMicros);
    long[] taken = stack().cells() == 0 ? numbers : numbers.clone();
    for (int c = 0; c < stack().cells(); c++) {
      readout(c).consume(taken);
    }
    write(taken, clockMicros);
    log.taken(clockMicros);
  }

  /** Writes the units to the log, and the numbers with them. */
  private void write(long[] counted, long clockMicros) {
    log.table().keep(log, clockMicros);
    if (found.length > 0) {
      var unused =
          log.take(
              nowMicros,
              nowMicros + leaseMicros(),
              charge.cost(),
              stack().kept(),
              stack().horizonMicros());
    }
    if (stack().cells() > 0) {
      log.remember(cells(), counted, nowMicros);
    }
    log.wrote(nowMicros, nowMicros - clockMicros);
  }

  /** Records past units at their time, or at that of the last write if that is later. */
  void record(long thenMicros) {
    long atMicros = log.notBeforeLastWrite(thenMicros);
    var unused = read(atMicros);
    long[] recorded = numbers.clone();
    for (int c = 0; c < stack().cells(); c++) {
      cells().get(c).record(recorded, nowMicros, charge.cost());
    }
    write(recorded, atMicros);
  }

  /**
   * Writes the state after a denied call: a violation, the start of time for a subject that has to
   * wait for its first tokens, or the shift. Without that, a log whose clock was set back by an
   * hour would deny for an hour.
   */
  void deny(long clockMicros) {
    if (!kept) {
      return;
    }
    writeBan(clockMicros);
    if (starts()) {
      long[] after = numbers.clone();
      for (int c = 0; c < stack().cells(); c++) {
        CellReadout readout = readout(c);
        if (readout.starts()) {
          readout.start(after);
        }
      }
      log.table().keep(log, clockMicros);
      log.remember(cells(), after, nowMicros);
      log.wrote(nowMicros, nowMicros - clockMicros);
    } else {
      log.shiftTo(nowMicros - clockMicros);
    }
  }

  /** Whether {@link #deny} has anything to write. */
  boolean denialWrites(long clockMicros) {
    return starts() || (ban != null && ban.changes()) || !log.isShiftedBy(nowMicros - clockMicros);
  }

  /** Whether a denied call starts the time of a cell. */
  private boolean starts() {
    boolean starts = false;
    for (int c = 0; c < stack().cells() && leaseMicros() == 0; c++) {
      starts |= readout(c).starts();
    }
    return starts;
  }

  private void writeBan(long clockMicros) {
    if (ban != null && leaseMicros() == 0) {
      ban.write(clockMicros);
    }
  }

  /** For how long the units of a lease may be spent. */
  long spendableMicros() {
    long micros = leaseMicros();
    long[] taken = numbers.clone();
    for (int c = 0; c < stack().cells(); c++) {
      readout(c).consume(taken);
      micros = Math.min(micros, cells().get(c).spendableUntilMicros(taken, nowMicros) - nowMicros);
    }
    return micros;
  }

  /**
   * Gives back units that {@link #take} took, as far as they are still there; some stay if the call
   * costs less than reserved.
   */
  int giveBack(int units, long atMicros) {
    return giveBack(units, 0, atMicros);
  }

  /**
   * @param before the units that were given back before
   */
  final int giveBack(int units, int before, long atMicros) {
    UnitLog from = kept ? log.table().peek(log.key()) : null;
    if (from == null) {
      return 0;
    }
    int lower = charge.cost() - units;
    int given =
        found.length > 0
            ? from.giveBack(nowMicros + aheadMicros(), Math.max(0, loggedUnits() - lower))
            : 0;
    if (from.hasNumbersSince(nowMicros)) {
      long laterMicros = from.nowMicros(atMicros);
      given = Math.max(given, giveBack(from.lowered(), lower, before, laterMicros));
    }
    if (from.size() == 0 && !from.hasNumbers()) {
      from.table().remove(from.key());
    }
    return given;
  }

  /**
   * Gives back the units that the cells took, except {@code lower}.
   *
   * @param lowered the numbers that are stored
   * @return the largest number of units given back to any cell that still had some
   */
  private int giveBack(long[] lowered, int lower, int before, long laterMicros) {
    long departureParts = 0;
    for (int c = 0; c < stack().cells(); c++) {
      departureParts = Math.max(departureParts, readout(c).departureParts());
    }
    int most = 0;
    for (int c = 0; c < stack().cells(); c++) {
      int took = (int) readout(c).units();
      int units = took - lower;
      if (units > 0
          && cells()
              .get(c)
              .giveBack(lowered, nowMicros, units, took - before, departureParts, laterMicros)) {
        most = Math.max(most, units);
      }
    }
    return most;
  }

  /**
   * Keeps the unit of a claimed guard: until it ends, so that it counts for this time at least;
   * then from when the call began. Returns 0 if it is not there any more.
   */
  int hold(long micros, boolean ended, long clockMicros) {
    UnitLog known = kept ? log.table().peek(log.key()) : null;
    if (known == null) {
      return kept ? 0 : 1;
    }
    long later = known.nowMicros(clockMicros) + micros - stack().horizonMicros() - nowMicros;
    long ahead = ended ? 0 : Math.max(aheadMicros(), later);
    if (!known.restamp(nowMicros + aheadMicros(), nowMicros + ahead)) {
      return 0;
    }
    found[0] = -ahead;
    return 1;
  }

  /** See {@link RuleStack#loggedUnits}. */
  private int loggedUnits() {
    int longest = stack().longestLog();
    return stack()
        .loggedUnits(charge.cost(), stack().rules().get(longest).count() - found[1 + 2 * longest]);
  }

  /**
   * Removes the units from the log and takes them again; no other unit has to go. Returns how many:
   * none if the key has no state by now and there is no room for it.
   */
  int renew(long atMicros) {
    LogTable table = log.table();
    UnitLog known = table.peek(log.key());
    if (known == null && table.full()) {
      return 0;
    }
    if (known != null) {
      var unused = known.giveBack(nowMicros + aheadMicros(), charge.cost());
      if (known.size() == 0) { // as after a refund of all units
        table.remove(log.key());
        known = null;
      }
    }
    log = known == null ? new UnitLog(table, log.key()) : known;
    table.keep(log, atMicros);
    nowMicros = log.nowMicros(atMicros);
    long stamp = log.take(nowMicros, charge.cost(), Long.MAX_VALUE, stack().horizonMicros());
    found[0] = nowMicros - stamp;
    log.wrote(nowMicros, nowMicros - atMicros);
    return charge.cost();
  }
}
