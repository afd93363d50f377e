// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.Charge;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A stack of rules in the encoding of the scripts; created once for each stack. It has one part for
 * the rules with a log, and one for those that keep numbers. Each part has its own reply; both
 * share one key.
 */
public final class EncodedStack {

  /** The status of the charge, before the replies of the parts. */
  static final int STATUS = 1;

  /** A log of no more units is short: it is read and written as a whole. */
  private static final int EXACT_SIZE_UNITS = 118;

  /** A key outlives its use by this time, so that it cannot expire while a script runs. */
  private static final long SLACK_MILLIS = 1_000;

  /** Mode, cost, sizes, fingerprint, fingerprint of the log, length of the cells. */
  private static final int PREAMBLE = 1 + 4 + 1 + 4 + 4 + 2;

  /** How often the nearest change of clocks, which the plan contains, is looked up. */
  private static final long RENEWED_MICROS = Duration.ofHours(1).toNanos() / 1_000;

  private final @Nullable EncodedLog log;
  private final @Nullable EncodedCells cells;
  private final LongSupplier wallMicros;
  private final boolean zoned;
  private final byte[] ttl;
  private final int micros;
  private final boolean[] logged;
  private final int[] indexInPart;
  private final int replyLength;
  private volatile Encoded encoded;

  /**
   * @param algorithms the custom algorithms in the scripts
   * @param wallMicros the wall clock, for the changes of the clocks of time zones
   */
  public EncodedStack(RuleStack stack, List<CustomAlgorithm> algorithms, LongSupplier wallMicros) {
    List<LoggedRule> inLog = new ArrayList<>();
    List<Rule> counted = new ArrayList<>();
    int size = stack.rules().size();
    logged = new boolean[size];
    indexInPart = new int[size];
    for (int r = 0; r < size; r++) {
      if (stack.rules().get(r) instanceof LoggedRule rule) {
        logged[r] = true;
        indexInPart[r] = inLog.size();
        inLog.add(rule);
      } else {
        indexInPart[r] = counted.size();
        counted.add(stack.rules().get(r));
      }
    }
    log = inLog.isEmpty() ? null : new EncodedLog(inLog);
    cells =
        counted.isEmpty() && stack.ban().isEmpty()
            ? null
            : new EncodedCells(counted, stack.ban(), algorithms);
    replyLength = STATUS + logLength() + (cells == null ? 0 : cells.replyLength());
    micros = micros(stack);
    this.wallMicros = wallMicros;
    this.zoned = cells != null && cells.isZoned();
    long memoryMicros =
        Math.max(log == null ? 0 : log.memoryMicros(), cells == null ? 0 : cells.memoryMicros());
    this.ttl =
        Long.toString((memoryMicros + memoryMicros / 16 + 999) / 1_000 + SLACK_MILLIS)
            .getBytes(StandardCharsets.US_ASCII);
    this.encoded = new Encoded(wallMicros.getAsLong());
  }

  /**
   * By the measurements in docs/redis-state.md and docs/benchmarks.md, rounded up. An algorithm of
   * the application's may take longer than those.
   */
  private static int micros(RuleStack stack) {
    int micros = stack.ban().isPresent() ? 6 : 4;
    for (Rule rule : stack.rules()) {
      if (rule instanceof LoggedRule log) {
        micros += log.count() <= EXACT_SIZE_UNITS ? 1 : 4;
      } else {
        micros += rule instanceof CustomRule ? 6 : 2;
      }
    }
    return micros;
  }

  /** An estimate of how long Redis takes for one unit of this stack, in microseconds. */
  int micros() {
    return micros;
  }

  /** The encoded plan at some time. */
  private final class Encoded {
    final long madeAtMicros;
    final byte[] plan;
    final byte[] acquireOne;

    Encoded(long nowMicros) {
      this.madeAtMicros = nowMicros;
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
    byte[] logPlan = log == null ? new byte[0] : log.plan();
    byte[] unused = cells == null ? new byte[0] : cells.unused();
    byte[] codes = cells == null ? new byte[0] : cells.codes(nowMicros);
    int fingerprint = log == null ? 0 : log.fingerprint();
    ByteBuffer plan =
        ByteBuffer.allocate(PREAMBLE + logPlan.length + unused.length + codes.length).position(5);
    plan.put((byte) (16 * (log == null ? 0 : log.size()) + (cells == null ? 0 : cells.size())));
    plan.putInt(cells == null ? fingerprint : cells.fingerprint()).putInt(fingerprint);
    plan.putShort((short) unused.length);
    return plan.put(logPlan).put(unused).put(codes).array();
  }

  private Encoded current() {
    Encoded known = encoded;
    if (zoned) {
      long nowMicros = wallMicros.getAsLong();
      if (Math.abs(nowMicros - known.madeAtMicros) > RENEWED_MICROS) {
        known = new Encoded(nowMicros);
        encoded = known;
      }
    }
    return known;
  }

  /** The plan argument of one call. */
  public byte[] argument(Mode mode, Charge charge) {
    Encoded known = current();
    return mode == Mode.ACQUIRE && charge.cost() == 1 && !charge.observed()
        ? known.acquireOne
        : known.with(code(mode, charge.observed()), charge.cost());
  }

  /** The plan of a call that took so many units, for {@code refund.lua} and {@code renew.lua}. */
  public byte[] ofTaken(int cost) {
    Encoded known = current();
    return cost == 1 ? known.acquireOne : known.with(code(Mode.ACQUIRE, false), cost);
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

  /** The rules with a log; null if there are none. */
  @Nullable EncodedLog log() {
    return log;
  }

  /** The rules that keep numbers, and the ban; null if there are none. */
  @Nullable EncodedCells cells() {
    return cells;
  }

  /** Length of the reply of the log, behind which that of the cells begins. */
  int logLength() {
    return log == null ? 0 : log.replyLength();
  }

  /** The log, if a rule reads it; null if the rule keeps numbers. */
  @Nullable EncodedLog logOf(int rule) {
    return logged[rule] ? log : null;
  }

  /** The index of a rule among those of the log or of the cells. */
  int indexInPart(int rule) {
    return indexInPart[rule];
  }

  /** Length of the reply: the status, the log, and the cells. */
  int replyLength() {
    return replyLength;
  }
}
