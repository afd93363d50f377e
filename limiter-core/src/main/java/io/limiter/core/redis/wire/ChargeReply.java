// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.wire.DecideReply.TakenUnits;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.DecisionReadout.Status;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.util.stream.Collectors;

/**
 * The reply of {@code decide.lua} to one charge of a call. Rules are given by their index in the
 * stack of the charge.
 */
final class ChargeReply {

  /** No unit of a log is newer than the clock by more, in microseconds. */
  private static final double LONGEST_LEASE = MICROSECONDS.convert(Rule.MAX_LEASE);

  private static final CellReadout[] NONE = {};

  /** In microseconds, the year 2255: no time is later, and doubles below it are exact. */
  private static final double LATEST = 0x1p53;

  private final EncodedStack stack;
  private final Charge charge;
  private final Mode mode;
  private final long leaseMicros;
  private final ByteBuffer reply;

  /** Where the numbers of the log begin. */
  private final int log;

  private final Status status;
  private final long nowMicros;
  private final CellReadout[] cells;
  private final long banMicros;

  /**
   * Reads and checks a reply.
   *
   * @param c the index of the charge
   * @param offset where its reply begins
   */
  ChargeReply(EncodedCall call, int c, ByteBuffer reply, int offset) {
    this.stack = call.stack(c);
    this.charge = call.charge(c);
    this.mode = call.mode();
    this.leaseMicros = call.leaseMicros();
    this.reply = reply;
    this.log = offset + EncodedStack.BEGIN;
    this.status = status(reply.get(offset));
    this.nowMicros = (long) timeMicros(reply.getDouble(offset + EncodedStack.STATUS), LATEST);
    checkLog();
    this.cells = charge.stack().cells() == 0 ? NONE : readCells();
    this.banMicros =
        stack.bans() ? banMicros(reply, offset + stack.replyLength() - EncodedStack.BAN_REPLY) : 0;
    requireAgreement();
  }

  private void checkLog() {
    if (hasLog()) {
      timeMicros(newestMicros(), (double) nowMicros + LONGEST_LEASE);
      for (int rule = 0; rule < stack.log().counts.length; rule++) {
        if (charge.stack().isLog(rule)) {
          checkRemaining(remainingBefore(rule), stack.log().counts[rule]);
        }
      }
    }
  }

  private boolean hasLog() {
    return charge.stack().logs() > 0;
  }

  /** The stamp of the newest unit in the log before the call. */
  private double newestMicros() {
    return reply.getDouble(log);
  }

  private CellReadout[] readCells() {
    int offset = log + stack.log().replyLength;
    return stack.cells().read(reply, offset, nowMicros, mode, charge.cost(), leaseMicros);
  }

  private static Status status(byte status) {
    return switch (status) {
      case DecideReply.ADMITTED -> Status.ADMITTED;
      case DecideReply.LIMITED -> Status.LIMITED;
      case DecideReply.BANNED -> Status.BANNED;
      default ->
          throw strange(
              "status %s instead of %s, %s or %s"
                  .formatted(
                      status,
                      (int) DecideReply.ADMITTED,
                      (int) DecideReply.LIMITED,
                      (int) DecideReply.BANNED));
    };
  }

  /**
   * Checks that status and numbers agree. The status is what the script acted on, the numbers are
   * what the verdict reports. Both follow from the same state by code that exists twice, in Lua and
   * in Java, and may differ for a custom algorithm. Then neither can be used: the call would be
   * admitted without being counted, or the reverse.
   */
  private void requireAgreement() {
    Status byNumbers = Status.ADMITTED;
    if (mode != Mode.RECORD) {
      boolean bans = mode == Mode.PEEK || !charge.observed(); // otherwise the script reads no ban
      if (bans && banMicros > 0) {
        byNumbers = Status.BANNED;
      } else if (isShort()) {
        byNumbers = Status.LIMITED;
      }
    }
    if (status != byNumbers) {
      throw strange(
          "status %s, but its numbers give %s, under %s".formatted(status, byNumbers, suspects()));
    }
  }

  private boolean isShort() {
    for (int rule = 0; rule < charge.stack().rules().size(); rule++) {
      if (remainingBefore(rule) < charge.cost()) {
        return true;
      }
    }
    return false;
  }

  private String suspects() {
    String own =
        charge.stack().rules().stream()
            .filter(CustomRule.class::isInstance)
            .map(CustomRule.class::cast)
            .map(rule -> "'%s' of the rule '%s'".formatted(rule.algorithm().name(), rule.name()))
            .collect(Collectors.joining(" or "));
    return own.isEmpty()
        ? "the limit key '%s'".formatted(charge.limit())
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

  /** Reads the remaining time of a ban. */
  static long banMicros(ByteBuffer reply, int offset) {
    return (long) timeMicros(reply.getDouble(offset), LATEST);
  }

  /** Checks units that are left; they may be negative. */
  static void checkRemaining(long remainingBefore, long most) {
    if (remainingBefore > most || remainingBefore < -LATEST) {
      throw strange("%s units left of %s".formatted(remainingBefore, most));
    }
  }

  /**
   * Checks a state value of a custom algorithm, which must only receive values that it has written.
   */
  static double finite(double number) {
    if (!Double.isFinite(number)) {
      throw strange("number " + number);
    }
    return number;
  }

  private static StoreException strange(String what) {
    return new StoreException(
        FailureReason.ERROR, "Redis replied to a decision with the " + what, null);
  }

  Status status() {
    return status;
  }

  long remainingBefore(int rule) {
    return charge.stack().isLog(rule)
        ? reply.getInt(log + stack.log().places[rule])
        : cell(rule).remainingBefore();
  }

  long retryAfterMicros(int rule, boolean taken) {
    if (charge.stack().isLog(rule)) {
      double micros = reply.getDouble(log + stack.log().places[rule] + 4);
      boolean never = micros == DecisionReadout.NEVER && charge.cost() > stack.log().counts[rule];
      double longest = (double) charge.stack().windowMicros(rule) + LONGEST_LEASE;
      return never ? DecisionReadout.NEVER : (long) timeMicros(micros, longest);
    }
    long micros = cell(rule).retryAfterMicros(taken);
    return micros == DecisionReadout.NEVER ? micros : timeMicros(micros);
  }

  long resetAfterMicros(int rule, boolean taken) {
    if (!charge.stack().isLog(rule)) {
      return timeMicros(cell(rule).resetAfterMicros(taken));
    }
    double newestMicros = taken ? stampMicros() : newestMicros();
    return (long) Math.max(0, charge.stack().windowMicros(rule) - (nowMicros - newestMicros));
  }

  /** The stamp of the units of the call: behind those of a lease, since a log is in order. */
  private double stampMicros() {
    return hasLog()
        ? Math.max((double) (nowMicros + leaseMicros), newestMicros())
        : (double) nowMicros;
  }

  long delayMicros(int rule) {
    return charge.stack().isLog(rule) ? 0 : timeMicros(cell(rule).delayMicros());
  }

  private CellReadout cell(int rule) {
    return cells[charge.stack().cellIndex(rule)];
  }

  long banMicros() {
    return banMicros;
  }

  /** See {@link DecideReply#leaseMicros}. */
  long leaseMicros() {
    long micros = leaseMicros;
    for (CellReadout cell : cells) {
      micros = Math.min(micros, cell.taken().spendableUntilMicros(nowMicros) - nowMicros);
    }
    return micros;
  }

  /** See {@link DecideReply#taken(int, int, int)}. */
  TakenUnits taken(int some, int before) {
    RuleStack rules = charge.stack();
    int longest = rules.longestLog();
    int logged =
        hasLog()
            ? rules.loggedUnits(
                charge.cost(), stack.log().counts[longest] - remainingBefore(longest))
            : 0;
    return new TakenUnits(
        charge.key(), stack, refundArgument(some, before), some, givenBack(logged, some));
  }

  /**
   * The argument of {@code refund.lua}: the time of the decision, the stamp of its units in a log,
   * for how long the call waits, the plan, and how many units are given back to each cell.
   */
  private byte[] refundArgument(int some, int before) {
    byte[] plan = stack.ofTaken(charge.cost());
    long departureParts = 0;
    for (CellReadout cell : cells) {
      departureParts = Math.max(departureParts, cell.departureParts());
    }
    ByteBuffer argument =
        ByteBuffer.allocate(8 + 8 + 8 + plan.length + 8 * cells.length)
            .putDouble((double) nowMicros)
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
    return Math.max(0, taken - (charge.cost() - some));
  }
}
