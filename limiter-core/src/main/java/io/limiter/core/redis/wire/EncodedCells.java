// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellAlgorithm;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.Mode;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
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

  /** The cell of each rule that is fully replenished. */
  private final Cell[] neverUsed;

  private final int numbers;

  EncodedCells(RuleStack stack, List<CustomAlgorithm> algorithms) {
    this.rules = IntStream.range(0, stack.cells()).mapToObj(stack::cellRule).toList();
    this.algorithms = algorithms;
    this.neverUsed = rules.stream().map(Cell::unused).toArray(Cell[]::new);
    this.numbers = Arrays.stream(neverUsed).mapToInt(Cell::size).sum();
  }

  /** Whether {@link #codes} change with time. */
  boolean isZoned() {
    return Arrays.stream(neverUsed).anyMatch(Cell::isZoned);
  }

  /** Length in a head: the time of the first write, and the numbers. */
  int length() {
    return numbers == 0 ? 0 : 8 + 8 * numbers;
  }

  /** The longest time for which a rule's cell is needed after it was written. */
  long memoryMicros() {
    return Arrays.stream(neverUsed).mapToLong(Cell::memoryMicros).max().orElse(0);
  }

  /**
   * The algorithm and numbers of each cell.
   *
   * @throws IllegalArgumentException if the scripts do not contain a rule's algorithm
   */
  byte[] codes(long wallMicros) {
    ByteArrayOutputStream codes = new ByteArrayOutputStream();
    for (int r = 0; r < neverUsed.length; r++) {
      double[] plan = neverUsed[r].plan(rules.get(r), wallMicros);
      ByteBuffer code = ByteBuffer.allocate(CODE + 8 * plan.length);
      code.put((byte) number(rules.get(r), neverUsed[r]));
      code.put((byte) neverUsed[r].size()).put((byte) code.capacity());
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
    CellReadout[] readouts = new CellReadout[rules.size()];
    int at = offset;
    for (int r = 0; r < readouts.length; r++) {
      Rule rule = rules.get(r);
      double[] values = new double[neverUsed[r].size()];
      for (int n = 0; n < values.length; n++) {
        double number = ChargeReply.number(reply, at + 8 * n);
        values[n] = rule instanceof CustomRule ? ChargeReply.finite(number) : number;
      }
      at += 8 * values.length;
      Cell cell = neverUsed[r].stored(nowMicros, values);
      readouts[r] =
          leaseMicros > 0
              ? cell.lease(rule, nowMicros, cost, leaseMicros)
              : cell.read(rule, nowMicros, cost, mode);
      ChargeReply.checkRemaining(readouts[r].remainingBefore(), rule.capacity());
    }
    return readouts;
  }
}
