// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Mode;
import io.limiter.core.rule.LeakyBucketRule;
import java.util.ArrayList;
import java.util.List;

/** A queue under a rule, and the reservations of its calls. */
final class LeakyQueue {

  private record Call(LeakyBucketRule rule, long stamp, int units, long waits) {}

  LeakyBucketRule rule;
  CellState cell;
  long now;
  private final List<Call> calls = new ArrayList<>();

  LeakyQueue(LeakyBucketRule rule) {
    this.rule = rule;
    this.cell = CellState.unused(rule);
  }

  CellReadout read(int cost, long later) {
    return cell.read(rule, now + later, cost, Mode.ACQUIRE);
  }

  long left() {
    return read(1, 0).remainingBefore();
  }

  /** The wait of a call that is admitted. */
  long take(int cost) {
    CellReadout readout = read(cost, 0);
    assertThat(readout.remainingBefore()).isGreaterThanOrEqualTo(cost);
    calls.add(new Call(rule, now, cost, readout.departureParts()));
    cell = cell.after(readout);
    return readout.delayMicros();
  }

  void takeEach(int times) {
    for (int i = 0; i < times; i++) {
      take(1);
    }
  }

  /** The number of calls so far. */
  int calls() {
    return calls.size();
  }

  /** Whether anything of a call, by its index, could be given back. */
  boolean leave(int index) {
    Call call = calls.get(index);
    return leave(index, call.units);
  }

  boolean leave(int index, int units) {
    Call call = calls.get(index);
    CellState before = cell;
    cell = cell.giveBack(call.rule, call.stamp, units, call.units, call.waits, now);
    return cell != before;
  }
}
