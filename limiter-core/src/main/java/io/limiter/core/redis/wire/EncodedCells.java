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
  public Said read(ByteBuffer reply, int offset, Mode mode, int cost) {
    long now = (long) ReplyNumbers.time(reply.getDouble(offset), ReplyNumbers.LATEST);
    CellReadout[] gauges = new CellReadout[rules.size()];
    int at = offset + 8;
    for (int r = 0; r < gauges.length; r++) {
      double[] numbers = new double[CellCode.size(rules.get(r))];
      for (int n = 0; n < numbers.length; n++) {
        double number = reply.getDouble(at + 8 * n);
        numbers[n] = rules.get(r) instanceof CustomRule ? ReplyNumbers.finite(number) : number;
      }
      at += 8 * numbers.length;
      gauges[r] =
          Cell.stored(rules.get(r), unused[r], now, numbers).read(rules.get(r), now, cost, mode);
      ReplyNumbers.left(gauges[r].left(), rules.get(r).capacity());
    }
    double banned = bans ? reply.getDouble(at + 8 * CellCode.BAN_SIZE) : 0;
    return new CellsSaid(gauges, bans, (long) ReplyNumbers.time(banned, ReplyNumbers.LATEST));
  }

  private static final class CellsSaid implements Said {

    private final CellReadout[] gauges;
    private final boolean bans;
    private final long bannedFor;

    CellsSaid(CellReadout[] gauges, boolean bans, long bannedFor) {
      this.gauges = gauges;
      this.bans = bans;
      this.bannedFor = bannedFor;
    }

    @Override
    public long left(int rule) {
      return gauges[rule].left();
    }

    @Override
    public long waitFor(int rule, boolean taken) {
      return ReplyNumbers.waitFor(gauges[rule].waitFor(taken));
    }

    @Override
    public long resetAfter(int rule, boolean taken) {
      return (long) ReplyNumbers.time((double) gauges[rule].resetAfter(taken), ReplyNumbers.LATEST);
    }

    @Override
    public long delay(int rule) {
      return (long) ReplyNumbers.time((double) gauges[rule].delay(), ReplyNumbers.LATEST);
    }

    @Override
    public int[] taken() {
      int[] units = new int[gauges.length + (bans ? 1 : 0)];
      for (int c = 0; c < gauges.length; c++) {
        units[c] = (int) gauges[c].units();
      }
      return units;
    }

    @Override
    public long departure() {
      long longest = 0;
      for (CellReadout gauge : gauges) {
        longest = Math.max(longest, gauge.departure());
      }
      return longest;
    }

    @Override
    public long bannedFor() {
      return bannedFor;
    }
  }
}
