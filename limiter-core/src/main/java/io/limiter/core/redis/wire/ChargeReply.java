// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.DecisionReadout;
import java.nio.ByteBuffer;
import java.util.stream.Collectors;

/**
 * The reply of {@code decide.lua} to one charge of a call. The status is the decision. If the
 * numbers contradict it, the reply is rejected and the call is decided elsewhere. The same applies
 * to impossible numbers: a reply of the right length may still come from another script, or from a
 * value that other software wrote under a key. Rules are given by their index in the stack of the
 * charge.
 */
public final class ChargeReply implements DecisionReadout {

  /** The status characters of {@code decide.lua}. */
  public static final char ADMITTED = 'A';

  static final char LIMITED = 'L';
  static final char BANNED = 'B';

  /** No unit of a log is newer than the clock by more, in microseconds. */
  private static final double LONGEST_LEASE = MICROSECONDS.convert(Rule.MAX_LEASE);

  private static final CellReadout[] NONE = {};

  /** In microseconds, the year 2255: no time is later, and doubles below it are exact. */
  private static final double LATEST = 0x1p53;

  private final EncodedCall call;
  private final int c;
  private final byte[] reply;
  private final int offset;
  private final CellReadout[] cells;

  /**
   * Reads and checks a reply.
   *
   * @param c the index of the charge
   * @param offset where its reply begins
   */
  ChargeReply(EncodedCall call, int c, byte[] reply, int offset) {
    this.call = call;
    this.c = c;
    this.reply = reply;
    this.offset = offset;
    checkLog();
    this.cells = charge().stack().cells() == 0 ? NONE : readCells();
    requireAgreement();
  }

  private EncodedStack stack() {
    return call.stack(c);
  }

  private Charge charge() {
    return call.charge(c);
  }

  private double number(int at) {
    return number(reply, at);
  }

  /** Reads a number without a buffer, which each call would create. */
  static double number(byte[] reply, int at) {
    return Double.longBitsToDouble(
        (long) integer(reply, at) << Integer.SIZE | (integer(reply, at + 4) & 0xFFFF_FFFFL));
  }

  private static int integer(byte[] reply, int at) {
    return reply[at] << 24
        | (reply[at + 1] & 0xFF) << 16
        | (reply[at + 2] & 0xFF) << 8
        | (reply[at + 3] & 0xFF);
  }

  /** When the decision was made, on Redis' clock. */
  @Override
  public long nowMicros() {
    return (long) timeMicros(number(offset + EncodedStack.STATUS), LATEST);
  }

  /** Where the numbers of the log begin. */
  private int log() {
    return offset + EncodedStack.BEGIN;
  }

  private void checkLog() {
    long nowMicros = nowMicros();
    if (hasLog()) {
      timeMicros(newestMicros(), (double) nowMicros + LONGEST_LEASE);
      long[] counts = stack().log().counts;
      for (int rule = 0; rule < counts.length; rule++) {
        if (charge().stack().isLog(rule)) {
          checkRemaining(remainingBefore(rule), counts[rule]);
        }
      }
    }
  }

  private boolean hasLog() {
    return charge().stack().logs() > 0;
  }

  /** The stamp of the newest unit in the log before the call. */
  private double newestMicros() {
    return number(log());
  }

  private CellReadout[] readCells() {
    int at = log() + stack().log().replyLength;
    return stack()
        .cells()
        .read(reply, at, nowMicros(), call.mode(), charge().cost(), call.leaseMicros());
  }

  @Override
  public Status status() {
    byte status = reply[offset];
    return switch (status) {
      case ADMITTED -> Status.ADMITTED;
      case LIMITED -> Status.LIMITED;
      case BANNED -> Status.BANNED;
      default ->
          throw strange(
              "status %s instead of %s, %s or %s"
                  .formatted(status, (int) ADMITTED, (int) LIMITED, (int) BANNED));
    };
  }

  @Override
  public boolean admits() {
    return reply[offset] == ADMITTED;
  }

  /**
   * Checks that status and numbers agree. The status is what the script acted on, the numbers are
   * what the verdict reports. Both follow from the same state by code that exists twice, in Lua and
   * in Java, and may differ for a custom algorithm. Then neither can be used: the call would be
   * admitted without being counted, or the reverse.
   */
  private void requireAgreement() {
    long banMicros = banMicros();
    Status byNumbers = Status.ADMITTED;
    Mode mode = call.mode();
    if (mode != Mode.RECORD) {
      boolean bans = mode == Mode.PEEK || !charge().observed(); // otherwise the script reads no ban
      if (bans && banMicros > 0) {
        byNumbers = Status.BANNED;
      } else if (isShort()) {
        byNumbers = Status.LIMITED;
      }
    }
    if (status() != byNumbers) {
      throw strange(
          "status %s, but its numbers give %s, under %s"
              .formatted(status(), byNumbers, suspects()));
    }
  }

  /**
   * Checks the times of each rule, so that they can be read at any time.
   *
   * @param takes whether the call takes units, if it is admitted
   * @param taken whether it is admitted, and takes them
   * @throws StoreException if one of them is impossible
   */
  public void check(boolean takes, boolean taken) {
    for (int rule = 0; rule < charge().stack().rules().size(); rule++) {
      var unusedRetry = retryAfterMicros(rule, takes);
      var unusedReset = resetAfterMicros(rule, taken && admits());
    }
  }

  private boolean isShort() {
    for (int rule = 0; rule < charge().stack().rules().size(); rule++) {
      if (remainingBefore(rule) < charge().cost()) {
        return true;
      }
    }
    return false;
  }

  private String suspects() {
    String own =
        charge().stack().rules().stream()
            .filter(CustomRule.class::isInstance)
            .map(CustomRule.class::cast)
            .map(rule -> "'%s' of the rule '%s'".formatted(rule.algorithm().name(), rule.name()))
            .collect(Collectors.joining(" or "));
    return own.isEmpty()
        ? "the limit key '%s'".formatted(charge().limit())
        : "the algorithm %s: make the algorithm's script() and read() return the same"
            .formatted(own);
  }

  /**
   * Checks a time in microseconds.
   *
   * @throws StoreException if it is negative, above {@code most}, or not a number
   */
  static double timeMicros(double micros, double most) {
    if (!(micros >= 0 && micros <= most)) {
      throw strange("time %s instead of one from 0 to %s".formatted(micros, most));
    }
    return micros;
  }

  private static long timeMicros(long micros) {
    return (long) timeMicros((double) micros, LATEST);
  }

  /** Whether a reply has the length of one about a ban alone. */
  public static boolean isOfBan(byte[] reply) {
    return reply.length == EncodedStack.BAN_ALONE_REPLY;
  }

  /**
   * Reads the remaining time of a ban from a reply about it alone.
   *
   * @throws StoreException if it is no such reply, or the time is impossible
   */
  public static double banMicros(byte[] reply) {
    if (!isOfBan(reply)) {
      throw new StoreException(
          FailureReason.ERROR,
          "Redis replied about a ban with %s bytes instead of %s"
              .formatted(reply.length, EncodedStack.BAN_ALONE_REPLY),
          null);
    }
    return timeMicros(number(reply, reply.length - Double.BYTES), LATEST);
  }

  /** Checks units that are left; they may be negative. */
  static void checkRemaining(long remainingBefore, long most) {
    if (remainingBefore > most || remainingBefore < -LATEST) {
      throw strange("%s units left of %s".formatted(remainingBefore, most));
    }
  }

  static StoreException strange(String what) {
    return new StoreException(
        FailureReason.ERROR, "Redis replied to a decision with the " + what, null);
  }

  @Override
  public long remainingBefore(int rule) {
    return charge().stack().isLog(rule)
        ? integer(reply, log() + stack().log().places[rule])
        : cell(rule).remainingBefore();
  }

  @Override
  public long retryAfterMicros(int rule, boolean taken) {
    if (charge().stack().isLog(rule)) {
      double micros = number(log() + stack().log().places[rule] + 4);
      if (micros == DecisionReadout.NEVER && charge().cost() > stack().log().counts[rule]) {
        return DecisionReadout.NEVER;
      }
      long added = stack().log().addedMicros;
      double longest = (double) (charge().stack().windowMicros(rule) + added) + LONGEST_LEASE;
      long waitMicros = (long) timeMicros(micros, longest) - added;
      return added > 0 && waitMicros <= 0
          ? MICROSECONDS.convert(charge().stack().claim()) // its method outlasts its window
          : waitMicros;
    }
    long micros = cell(rule).retryAfterMicros(taken);
    return micros == DecisionReadout.NEVER ? micros : timeMicros(micros);
  }

  @Override
  public long resetAfterMicros(int rule, boolean taken) {
    if (!charge().stack().isLog(rule)) {
      return timeMicros(cell(rule).resetAfterMicros(taken));
    }
    if (stack().log().addedMicros > 0 && isShort()) {
      return retryAfterMicros(rule, false);
    }
    double newestMicros = taken ? stampMicros() : newestMicros();
    return (long) Math.max(0, charge().stack().windowMicros(rule) - (nowMicros() - newestMicros));
  }

  /** The stamp of the units of the call: behind those of a lease, since a log is in order. */
  private double stampMicros() {
    return hasLog()
        ? Math.max((double) (nowMicros() + call.leaseMicros()), newestMicros())
        : (double) nowMicros();
  }

  @Override
  public long delayMicros(int rule) {
    return charge().stack().isLog(rule) ? 0 : timeMicros(cell(rule).delayMicros());
  }

  private CellReadout cell(int rule) {
    return cells[charge().stack().cellIndex(rule)];
  }

  @Override
  public long banMicros() {
    int at = offset + stack().replyLength() - EncodedStack.BAN_REPLY;
    return stack().bans() ? (long) timeMicros(number(at), LATEST) : 0;
  }

  /**
   * For how long the units may be spent, in microseconds from the decision on: the time of the
   * lease, or less if a window ends earlier.
   */
  public long leaseMicros() {
    return stack().cells().spendableMicros(cells, nowMicros(), call.leaseMicros());
  }

  /**
   * Some of the units that the charge took.
   *
   * @param some the number of units
   * @param before the number of its units that were given back before
   */
  public TakenUnits taken(int some, int before) {
    RuleStack rules = charge().stack();
    int longest = rules.longestLog();
    int logged =
        hasLog()
            ? rules.loggedUnits(
                charge().cost(), stack().log().counts[longest] - remainingBefore(longest))
            : 0;
    byte[] plan = stack().ofTaken(givenBack(logged, some));
    return new TakenUnits(charge().key(), stack(), refundArgument(plan, some, before), some);
  }

  /**
   * The argument of {@code refund.lua}: the time of the decision, the stamp of its units in a log,
   * for how long the call waits, the plan, and how many units are given back to each cell.
   */
  private byte[] refundArgument(byte[] plan, int some, int before) {
    long departureParts = 0;
    for (CellReadout cell : cells) {
      departureParts = Math.max(departureParts, cell.departureParts());
    }
    ByteBuffer argument =
        ByteBuffer.allocate(8 + 8 + 8 + plan.length + 8 * cells.length)
            .putDouble((double) nowMicros())
            .putDouble(stampMicros())
            .putDouble((double) departureParts)
            .put(plan);
    for (CellReadout cell : cells) {
      int units = (int) cell.units();
      argument.putInt(givenBack(units, some)).putInt(units - before);
    }
    return argument.array();
  }

  /**
   * Of the units that a rule took, those that it would not have taken for a call that costs less.
   */
  private int givenBack(int taken, int some) {
    return Math.max(0, taken - (charge().cost() - some));
  }
}
