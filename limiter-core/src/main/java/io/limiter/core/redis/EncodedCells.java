// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.Mode;
import io.limiter.core.Rule;
import io.limiter.core.cell.Cell;
import io.limiter.core.cell.Gauge;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.function.LongSupplier;

/** The rules of a stack that keep numbers, and its ban; {@code cells.lua} describes them. */
final class EncodedCells implements StackPart {

  /** At the end of a key with cells. */
  static final String SUFFIX = ".c";

  /** The plan tells of the change of clocks that is nearest: it is looked for so often. */
  private static final long RENEWED_MICROS = Duration.ofHours(1).toNanos() / 1_000;

  private final CellPlan plan;
  private final LongSupplier wallMicros;
  private final boolean zoned;
  private final List<Rule> rules;
  private final Cell[] unused;
  private final boolean bans;
  private final byte[] ttl;
  private final int replyLength;
  private volatile Encoded encoded;

  EncodedCells(CellPlan plan, LongSupplier wallMicros) {
    this.plan = plan;
    this.wallMicros = wallMicros;
    this.zoned = plan.isZoned();
    this.encoded = new Encoded(plan, wallMicros.getAsLong());
    long millis = (plan.memoryMicros() + 999) / 1_000 + SLACK_MILLIS;
    this.ttl = Long.toString(millis).getBytes(StandardCharsets.US_ASCII);
    this.rules = plan.rules();
    this.unused = rules.stream().map(Cell::unused).toArray(Cell[]::new);
    this.bans = plan.bans();
    int numbers = rules.stream().mapToInt(CellCode::size).sum();
    this.replyLength = 8 + 8 * numbers + (bans ? 8 * CellCode.BAN_SIZE + 8 : 0);
  }

  /** The plan as it is at some time. */
  private static final class Encoded {
    final long madeAt;
    final byte[] plan;
    final byte[] acquireOne;

    Encoded(CellPlan plan, long now) {
      this.madeAt = now;
      this.plan = plan.encode(now);
      this.acquireOne = with(StackPart.code(Mode.ACQUIRE, false), 1);
    }

    byte[] with(byte mode, int cost) {
      byte[] argument = plan.clone();
      ByteBuffer.wrap(argument).put(mode).putInt(cost);
      return argument;
    }
  }

  private Encoded current() {
    Encoded known = encoded;
    if (zoned) {
      long now = wallMicros.getAsLong();
      if (Math.abs(now - known.madeAt) > RENEWED_MICROS) {
        known = new Encoded(plan, now);
        encoded = known;
      }
    }
    return known;
  }

  @Override
  public String suffix() {
    return SUFFIX;
  }

  @Override
  public byte[] argument(Mode mode, Charge charge) {
    Encoded now = current();
    return mode == Mode.ACQUIRE && charge.cost() == 1 && !charge.observed()
        ? now.acquireOne
        : now.with(StackPart.code(mode, charge.observed()), charge.cost());
  }

  @Override
  public byte[] ttl() {
    return ttl;
  }

  @Override
  public byte[] refundPlan(int cost) {
    Encoded now = current();
    return cost == 1 ? now.acquireOne : now.with(StackPart.code(Mode.ACQUIRE, false), cost);
  }

  @Override
  public int replyLength() {
    return replyLength;
  }

  @Override
  public Said read(ByteBuffer reply, int offset, Mode mode, int cost) {
    long now = (long) reply.getDouble(offset);
    Gauge[] gauges = new Gauge[rules.size()];
    int at = offset + 8;
    for (int r = 0; r < gauges.length; r++) {
      double[] numbers = new double[CellCode.size(rules.get(r))];
      for (int n = 0; n < numbers.length; n++) {
        numbers[n] = reply.getDouble(at + 8 * n);
      }
      at += 8 * numbers.length;
      gauges[r] =
          Cell.stored(rules.get(r), unused[r], now, numbers).read(rules.get(r), now, cost, mode);
    }
    return new CellsSaid(gauges, bans ? (long) reply.getDouble(at + 8 * CellCode.BAN_SIZE) : 0);
  }

  private static final class CellsSaid implements Said {

    private final Gauge[] gauges;
    private final long bannedFor;

    CellsSaid(Gauge[] gauges, long bannedFor) {
      this.gauges = gauges;
      this.bannedFor = bannedFor;
    }

    @Override
    public long left(int rule) {
      return gauges[rule].left();
    }

    @Override
    public long waitFor(int rule, boolean taken) {
      return gauges[rule].waitFor(taken);
    }

    @Override
    public long resetAfter(int rule, boolean taken) {
      return gauges[rule].resetAfter(taken);
    }

    @Override
    public long delay(int rule) {
      return gauges[rule].delay();
    }

    @Override
    public long departure() {
      long longest = 0;
      for (Gauge gauge : gauges) {
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
