// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.Charge;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/** The description of a stack that is sent to the scripts; {@code decide.lua} describes it. */
public final class StackPlan {

  /** A key outlives its use by this time, so that it cannot expire while a script runs. */
  private static final long SLACK_MILLIS = 1_000;

  /** Mode, cost, sizes, fingerprint, fingerprint of the log, length of the cells. */
  private static final int PREAMBLE = 1 + 4 + 1 + 4 + 4 + 2;

  /** How often the nearest change of clocks, which the plan contains, is looked up. */
  private static final long RENEWED_MICROS = Duration.ofHours(1).toNanos() / 1_000;

  private final Optional<EncodedLog> log;
  private final Optional<CellPlan> cells;
  private final LongSupplier wallMicros;
  private final boolean zoned;
  private final byte[] ttl;
  private volatile Encoded encoded;

  /**
   * @param log the rules with a log
   * @param cells the other rules and the ban; at least one of the two is present
   * @param wallMicros the wall clock
   */
  StackPlan(Optional<EncodedLog> log, Optional<CellPlan> cells, LongSupplier wallMicros) {
    this.log = log;
    this.cells = cells;
    this.wallMicros = wallMicros;
    this.zoned = cells.isPresent() && cells.get().isZoned();
    long memoryMicros =
        Math.max(
            log.map(EncodedLog::memoryMicros).orElse(0L),
            cells.map(CellPlan::memoryMicros).orElse(0L));
    this.ttl =
        Long.toString((memoryMicros + memoryMicros / 16 + 999) / 1_000 + SLACK_MILLIS)
            .getBytes(StandardCharsets.US_ASCII);
    this.encoded = new Encoded(wallMicros.getAsLong());
  }

  /** The encoded plan at some time. */
  private final class Encoded {
    final long madeAt;
    final byte[] plan;
    final byte[] acquireOne;

    Encoded(long nowMicros) {
      this.madeAt = nowMicros;
      this.plan = encode(nowMicros);
      this.acquireOne = with(code(Mode.ACQUIRE, false), 1);
    }

    byte[] with(byte mode, int cost) {
      byte[] argument = plan.clone();
      ByteBuffer.wrap(argument).put(mode).putInt(cost);
      return argument;
    }
  }

  private byte[] encode(long nowMicros) {
    byte[] logged = log.map(EncodedLog::plan).orElseGet(() -> new byte[0]);
    byte[] unused = cells.map(CellPlan::unused).orElseGet(() -> new byte[0]);
    byte[] codes = cells.map(known -> known.codes(nowMicros)).orElseGet(() -> new byte[0]);
    int fingerprint = log.map(EncodedLog::fingerprint).orElse(0);
    ByteBuffer plan =
        ByteBuffer.allocate(PREAMBLE + logged.length + unused.length + codes.length).position(5);
    plan.put(
        (byte) (16 * log.map(EncodedLog::size).orElse(0) + cells.map(CellPlan::size).orElse(0)));
    plan.putInt(cells.map(CellPlan::fingerprint).orElse(fingerprint)).putInt(fingerprint);
    plan.putShort((short) unused.length);
    return plan.put(logged).put(unused).put(codes).array();
  }

  private Encoded current() {
    Encoded known = encoded;
    if (zoned) {
      long now = wallMicros.getAsLong();
      if (Math.abs(now - known.madeAt) > RENEWED_MICROS) {
        known = new Encoded(now);
        encoded = known;
      }
    }
    return known;
  }

  /** The plan argument of one call. */
  public byte[] argument(Mode mode, Charge charge) {
    Encoded nowMicros = current();
    return mode == Mode.ACQUIRE && charge.cost() == 1 && !charge.observed()
        ? nowMicros.acquireOne
        : nowMicros.with(code(mode, charge.observed()), charge.cost());
  }

  /** The plan of a call that took so many units, for {@code refund.lua} and {@code renew.lua}. */
  public byte[] ofTaken(int cost) {
    Encoded now = current();
    return cost == 1 ? now.acquireOne : now.with(code(Mode.ACQUIRE, false), cost);
  }

  /** The time to live of the key, in ms, as text. */
  public byte[] ttl() {
    return ttl;
  }

  /**
   * @param observed whether the charge must not deny the call
   */
  private static byte code(Mode mode, boolean observed) {
    return switch (mode) {
      case PEEK -> 0;
      case ACQUIRE -> (byte) (observed ? 3 : 1);
      case RECORD -> 2;
    };
  }
}
