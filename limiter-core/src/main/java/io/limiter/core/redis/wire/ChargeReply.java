// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.wire.DecideReply.TakenUnits;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
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
    stack.log().check(reply, log, nowMicros);
    this.cells =
        stack
            .cells()
            .read(
                reply,
                log + stack.log().replyLength(),
                nowMicros,
                mode,
                charge.cost(),
                leaseMicros);
    this.banMicros =
        stack.bans() ? banMicros(reply, offset + stack.replyLength() - EncodedStack.BAN_REPLY) : 0;
    requireAgreement();
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
  static void checkRemaining(long remainingBefore, Rule rule) {
    if (remainingBefore > rule.capacity() || remainingBefore < -LATEST) {
      throw strange("%s units left of %s".formatted(remainingBefore, rule.capacity()));
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
        ? stack.log().remainingBefore(reply, log, rule)
        : cell(rule).remainingBefore();
  }

  long retryAfterMicros(int rule, boolean taken) {
    if (charge.stack().isLog(rule)) {
      return stack.log().retryAfterMicros(reply, log, rule, charge.cost());
    }
    long micros = cell(rule).retryAfterMicros(taken);
    return micros == DecisionReadout.NEVER ? micros : timeMicros(micros);
  }

  long resetAfterMicros(int rule, boolean taken) {
    return charge.stack().isLog(rule)
        ? stack.log().resetAfterMicros(reply, log, rule, taken, nowMicros, leaseMicros)
        : timeMicros(cell(rule).resetAfterMicros(taken));
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
    int logged = stack.log().taken(reply, log, charge.cost());
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
            .putDouble(stack.log().stampMicros(reply, log, nowMicros, leaseMicros))
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
