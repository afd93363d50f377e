// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.Mode;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellAlgorithm;
import io.limiter.core.state.CellReadout;
import io.limiter.core.state.Cells;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The rules of a stack that keep numbers, if there are any: their part of the plan, and of the
 * reply; {@code decide.lua} and {@code cells.lua} describe both.
 */
final class EncodedCells {

  /** Bytes of the code of a cell before its parameters. */
  private static final int CODE = 3;

  /** In the order of the state. */
  private final List<Rule> rules;

  private final List<CustomAlgorithm> algorithms;

  private final Cells cells;
  private final int numbers;

  EncodedCells(RuleStack stack, List<CustomAlgorithm> algorithms) {
    this.rules = IntStream.range(0, stack.cells()).mapToObj(stack::cellRule).toList();
    this.algorithms = algorithms;
    this.cells = new Cells(stack);
    this.numbers = cells.unused().length;
  }

  /** Whether {@link #codes} change with time. */
  boolean isZoned() {
    return cells.all().stream().anyMatch(Cell::isZoned);
  }

  /** Length in a head: the time of the first write, and the numbers. */
  int length() {
    return numbers == 0 ? 0 : 8 + 8 * numbers;
  }

  /** The longest time for which a rule's cell is needed after it was written. */
  long memoryMicros() {
    return cells.all().stream().mapToLong(Cell::memoryMicros).max().orElse(0);
  }

  /**
   * The algorithm and numbers of each cell.
   *
   * @throws IllegalArgumentException if the scripts do not contain a rule's algorithm
   */
  byte[] codes(long wallMicros) {
    ByteArrayOutputStream codes = new ByteArrayOutputStream();
    for (int c = 0; c < cells.count(); c++) {
      double[] plan = cells.get(c).plan(wallMicros);
      ByteBuffer code = ByteBuffer.allocate(CODE + 8 * plan.length);
      code.put((byte) number(rules.get(c), cells.get(c)));
      code.put((byte) cells.get(c).size()).put((byte) code.capacity());
      for (double number : plan) {
        code.putDouble(number);
      }
      codes.writeBytes(code.array());
    }
    return codes.toByteArray();
  }

  /** The number of a rule's algorithm in the scripts. */
  private int number(Rule rule, Cell cell) {
    if (!(rule instanceof CustomRule custom)) {
      return cell.algorithm().number();
    }
    int known = 0;
    while (known < algorithms.size()
        && !algorithms.get(known).name().equals(custom.algorithm().name())) {
      known++;
    }
    if (known == algorithms.size()) {
      throw new IllegalArgumentException(
          "The rule '%s' uses the algorithm '%s', which the Redis store does not have: pass it to the store when it is created"
              .formatted(rule.name(), custom.algorithm().name()));
    }
    return CellAlgorithm.CUSTOM.number() + known;
  }

  /** Length of the reply, without the time of the decision. */
  int replyLength() {
    return 8 * numbers;
  }

  /**
   * Reads the reply to a call.
   *
   * @param offset where the reply of the cells begins
   * @param leaseMicros for how long the units of a lease may be spent; 0 if the call takes no lease
   */
  CellReadout[] read(
      byte[] reply, int offset, long nowMicros, Mode mode, int cost, long leaseMicros) {
    double[] values = new double[numbers];
    for (int n = 0; n < numbers; n++) {
      values[n] = ChargeReply.number(reply, offset + 8 * n);
    }
    long[] state = new long[numbers];
    CellReadout[] readouts = new CellReadout[rules.size()];
    for (int c = 0; c < readouts.length; c++) {
      if (rules.get(c) instanceof CustomRule) {
        requireFinite(values, cells.get(c));
      }
      cells.get(c).set(state, values, nowMicros);
      readouts[c] =
          leaseMicros > 0
              ? cells.get(c).readLease(state, nowMicros, cost, leaseMicros)
              : cells.get(c).read(state, nowMicros, cost, mode);
      ChargeReply.checkRemaining(readouts[c].remainingBefore(), rules.get(c).capacity());
    }
    return readouts;
  }

  /** A custom algorithm must only receive values that it has written. */
  private static void requireFinite(double[] values, Cell cell) {
    for (int n = cell.at(); n < cell.at() + cell.size(); n++) {
      if (!Double.isFinite(values[n])) {
        throw ChargeReply.strange("number " + values[n]);
      }
    }
  }

  /** For how long the units of a lease may be spent, at most {@code leaseMicros}. */
  long spendableMicros(CellReadout[] readouts, long nowMicros, long leaseMicros) {
    long[] taken = new long[numbers];
    long micros = leaseMicros;
    for (int c = 0; c < cells.count(); c++) {
      readouts[c].consume(taken);
      micros = Math.min(micros, cells.get(c).spendableUntilMicros(taken, nowMicros) - nowMicros);
    }
    return micros;
  }
}
