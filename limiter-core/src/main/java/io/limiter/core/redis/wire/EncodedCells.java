// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.util.List;

/** The rules of a stack that keep numbers, and its ban; {@code cells.lua} describes them. */
final class EncodedCells implements StackPart {

  private final List<Rule> rules;
  private final Cell[] unused;
  private final boolean bans;
  private final int replyLength;

  EncodedCells(CellPlan plan) {
    this.rules = plan.rules();
    this.unused = rules.stream().map(Cell::unused).toArray(Cell[]::new);
    this.bans = plan.bans();
    int numbers = rules.stream().mapToInt(CellCode::size).sum();
    this.replyLength = 8 + 8 * numbers + (bans ? 8 * CellCode.BAN_SIZE + 8 : 0);
  }

  @Override
  public int replyLength() {
    return replyLength;
  }

  @Override
  public PartReadout read(ByteBuffer reply, int offset, Mode mode, int cost) {
    long nowMicros =
        (long)
            StackPart.ReplyNumbers.timeMicros(
                reply.getDouble(offset), StackPart.ReplyNumbers.LATEST);
    CellReadout[] readouts = new CellReadout[rules.size()];
    int at = offset + 8;
    for (int r = 0; r < readouts.length; r++) {
      double[] numbers = new double[CellCode.size(rules.get(r))];
      for (int n = 0; n < numbers.length; n++) {
        double number = reply.getDouble(at + 8 * n);
        numbers[n] =
            rules.get(r) instanceof CustomRule ? StackPart.ReplyNumbers.finite(number) : number;
      }
      at += 8 * numbers.length;
      readouts[r] =
          Cell.stored(rules.get(r), unused[r], nowMicros, numbers)
              .read(rules.get(r), nowMicros, cost, mode);
      StackPart.ReplyNumbers.remainingBefore(
          readouts[r].remainingBefore(), rules.get(r).capacity());
    }
    double banMicros = bans ? reply.getDouble(at + 8 * CellCode.BAN_SIZE) : 0;
    return new CellsReadout(
        readouts,
        bans,
        (long) StackPart.ReplyNumbers.timeMicros(banMicros, StackPart.ReplyNumbers.LATEST));
  }

  private static final class CellsReadout implements PartReadout {

    private final CellReadout[] readouts;
    private final boolean bans;
    private final long banMicros;

    CellsReadout(CellReadout[] readouts, boolean bans, long banMicros) {
      this.readouts = readouts;
      this.bans = bans;
      this.banMicros = banMicros;
    }

    @Override
    public long remainingBefore(int rule) {
      return readouts[rule].remainingBefore();
    }

    @Override
    public long retryAfterMicros(int rule, boolean taken) {
      return StackPart.ReplyNumbers.retryAfterMicros(readouts[rule].retryAfterMicros(taken));
    }

    @Override
    public long resetAfterMicros(int rule, boolean taken) {
      return (long)
          StackPart.ReplyNumbers.timeMicros(
              (double) readouts[rule].resetAfterMicros(taken), StackPart.ReplyNumbers.LATEST);
    }

    @Override
    public long delayMicros(int rule) {
      return (long)
          StackPart.ReplyNumbers.timeMicros(
              (double) readouts[rule].delayMicros(), StackPart.ReplyNumbers.LATEST);
    }

    @Override
    public int[] taken() {
      int[] units = new int[readouts.length + (bans ? 1 : 0)];
      for (int c = 0; c < readouts.length; c++) {
        units[c] = (int) readouts[c].units();
      }
      return units;
    }

    @Override
    public long departureParts() {
      long longest = 0;
      for (CellReadout readout : readouts) {
        longest = Math.max(longest, readout.departureParts());
      }
      return longest;
    }

    @Override
    public long banMicros() {
      return banMicros;
    }
  }
}
