// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import java.math.BigInteger;
import java.util.Optional;
import java.util.stream.LongStream;

/**
 * A leaky bucket with waiting calls. Times are in parts; each microsecond has as many parts as the
 * rule has units in a window, so two departures are as many parts apart as the window has
 * microseconds. Departures are those before the next one, back to now.
 */
final class LeakyModel extends CellModel {

  private final long interval;
  private final long rate;
  private LeakyBucketRule rule;
  private long now;
  private long cost = 1;
  private BigInteger next = BigInteger.ZERO;
  private LeaversModel leavers;

  LeakyModel(LeakyBucketRule rule) {
    this.rule = rule;
    this.interval = Plain.window(rule);
    this.rate = rule.count();
    this.leavers = new LeaversModel(BigInteger.valueOf(interval));
  }

  @Override
  CellModel copy() {
    LeakyModel copy = new LeakyModel(rule);
    copy.now = now;
    copy.cost = cost;
    copy.next = next;
    copy.leavers = leavers.at(parts(now));
    return copy;
  }

  private BigInteger parts(long micros) {
    return BigInteger.valueOf(micros).multiply(BigInteger.valueOf(rate));
  }

  private BigInteger intervals(long units) {
    return BigInteger.valueOf(interval).multiply(BigInteger.valueOf(units));
  }

  private long longest() {
    return parts(Plain.micros(rule.maxWait())).longValueExact();
  }

  /** The parts from now until then. */
  private long until(BigInteger then) {
    return then.subtract(parts(now)).longValueExact();
  }

  private boolean isIdle() {
    return next.compareTo(parts(now)) <= 0;
  }

  private long ahead() {
    return isIdle() ? 0 : until(next);
  }

  private long micros(long parts) {
    return (parts + rate - 1) / rate;
  }

  @Override
  void proceed(Rule reading, long time) {
    rule = (LeakyBucketRule) reading;
    now = time;
    leavers = leavers.at(parts(now));
  }

  @Override
  void ask(long units) {
    cost = units;
  }

  /** The earliest departure that was given up, if the call may take it. */
  private Optional<BigInteger> earliest() {
    return rule.fair() || cost != 1 ? Optional.empty() : leavers.earliest();
  }

  private long leftAt(long wait) {
    LeakyModel later = (LeakyModel) copy();
    later.now = now + wait;
    later.leavers = leavers.at(parts(later.now));
    long waiting = -later.leavers.free();
    for (long at = later.ahead() - interval; at > 0; at -= interval) {
      waiting++;
    }
    long places = rule.queue() - waiting + (later.isIdle() ? 1 : 0);
    return Math.min(places, later.inTime());
  }

  /** The departures that a call may take, each for one unit, if none is too far away. */
  private long inTime() {
    long near = ahead() > longest() ? 0 : (longest() - ahead()) / interval + 1;
    LeaversModel free = leavers.at(parts(now));
    while (earliest().isPresent() && free.free() > 0) {
      near += until(free.earliest().orElseThrow()) <= longest() ? 1 : 0;
      free.takeEarliest();
    }
    return near;
  }

  @Override
  long remaining() {
    return leftAt(0);
  }

  /** The result changes only when a departure passes, or comes near enough. */
  @Override
  long microsUntilLeft(long wanted) {
    return LongStream.iterate(
            ahead() + intervals(wanted).longValueExact(), at -> at > 0, at -> at - interval)
        .flatMap(at -> LongStream.of(micros(at), at > longest() ? micros(at - longest()) : 0))
        .filter(wait -> wait > 0)
        .sorted()
        .filter(wait -> leftAt(wait) >= wanted)
        .findFirst()
        .orElseThrow();
  }

  @Override
  long microsUntilMore() {
    return remaining() == rule.capacity() ? micros(interval) : microsUntilLeft(remaining() + 1);
  }

  @Override
  long microsUntilReplenished() {
    return micros(ahead());
  }

  /** When the call departs; empty if at once. */
  Optional<BigInteger> departure() {
    return earliest().or(() -> isIdle() ? Optional.empty() : Optional.of(next));
  }

  /** The wait of the call, in microseconds. */
  long delayMicros() {
    return departure().map(then -> micros(until(then))).orElse(0L);
  }

  @Override
  void take(long units) {
    if (units == 1 && earliest().isPresent()) {
      leavers.takeEarliest();
    } else {
      next = (isIdle() ? parts(now) : next).add(intervals(units));
    }
  }

  /** A departure that has passed cannot be given back. */
  @Override
  boolean giveBack(Rule rule, long stamp, long units, long taken) {
    return false;
  }

  /** Gives up a departure, and the following ones of the same call. */
  boolean giveUp(LeakyBucketRule under, BigInteger departure, long units, long time) {
    BigInteger last = departure.add(intervals(units - 1));
    boolean waits = departure.compareTo(parts(time)) > 0;
    boolean ours = next.subtract(departure).mod(intervals(1)).signum() == 0;
    LeaversModel more = leavers.at(parts(time));
    if (!waits || !ours || last.compareTo(next) >= 0 || !more.add(departure, last)) {
      return false;
    }
    leavers = more;
    if (!under.fair()) {
      next = more.takeLast(next).orElse(next);
    }
    return true;
  }
}
