// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.Mode;
import io.limiter.core.rule.Rule;
import java.util.Arrays;

/** The numbers of one subject under one rule, or under others of its shape. Immutable. */
final class CellState {

  private final long[] numbers;

  private CellState(long[] numbers) {
    this.numbers = numbers;
  }

  static Cell cell(Rule rule) {
    return Cell.of(rule, 0);
  }

  static CellState of(long... numbers) {
    return new CellState(numbers);
  }

  static CellState unused(Rule rule) {
    long[] numbers = new long[cell(rule).size()];
    cell(rule).clear(numbers);
    return new CellState(numbers);
  }

  static CellState stored(Rule rule, long now, double... stored) {
    long[] numbers = new long[stored.length];
    cell(rule).set(numbers, stored, now);
    return new CellState(numbers);
  }

  CellReadout read(Rule rule, long now, int cost, Mode mode) {
    return cell(rule).read(numbers, now, cost, mode);
  }

  /** The state after an admitted call of which this is the readout. */
  CellState after(CellReadout call) {
    long[] taken = numbers.clone();
    call.consume(taken);
    return new CellState(taken);
  }

  /** The state after a denied call; this object if nothing changes. */
  CellState denied(CellReadout call) {
    if (!call.starts()) {
      return this;
    }
    long[] started = numbers.clone();
    call.start(started);
    return new CellState(started);
  }

  /** The state with units that another store took. */
  CellState recorded(Rule rule, long at, int units) {
    long[] recorded = numbers.clone();
    cell(rule).record(recorded, at, units);
    return new CellState(recorded);
  }

  /** This object if nothing changes. */
  CellState giveBack(Rule rule, long stamp, int units, int taken, long parts, long now) {
    long[] lowered = numbers.clone();
    return cell(rule).giveBack(lowered, stamp, units, taken, parts, now)
        ? new CellState(lowered)
        : this;
  }

  long neededUntilMicros(Rule rule) {
    return cell(rule).neededUntilMicros(numbers);
  }

  long[] numbers() {
    return numbers.clone();
  }

  @Override
  public String toString() {
    return Arrays.toString(numbers);
  }
}
