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
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

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

  private final Optional<EncodedLog> log;
  private final Optional<EncodedCells> cells;
  private final LongSupplier wallMicros;
  private final boolean zoned;
  private final byte[] ttl;
  private final StackPart[] parts;
  private final boolean logOnly;
  private final int micros;
  private final int[] partOf;
  private final int[] indexInPart;
  private volatile Encoded encoded;

  /**
   * @param algorithms the custom algorithms in the scripts
   * @param wallMicros the wall clock, for the changes of the clocks of time zones
   */
  public EncodedStack(RuleStack stack, List<CustomAlgorithm> algorithms, LongSupplier wallMicros) {
    List<LoggedRule> logged = new ArrayList<>();
    List<Rule> counted = new ArrayList<>();
    int size = stack.rules().size();
    partOf = new int[size];
    indexInPart = new int[size];
    for (int r = 0; r < size; r++) {
      if (stack.rules().get(r) instanceof LoggedRule log) {
        indexInPart[r] = logged.size();
        logged.add(log);
      } else {
        partOf[r] = 1;
        indexInPart[r] = counted.size();
        counted.add(stack.rules().get(r));
      }
    }
    log = logged.isEmpty() ? Optional.empty() : Optional.of(new EncodedLog(logged));
    cells =
        counted.isEmpty() && stack.ban().isEmpty()
            ? Optional.empty()
            : Optional.of(new EncodedCells(counted, stack.ban(), algorithms));
    if (log.isEmpty()) {
      Arrays.fill(partOf, 0);
    }
    parts = Stream.concat(log.stream(), cells.stream()).toArray(StackPart[]::new);
    logOnly = cells.isEmpty();
    micros = micros(stack);
    this.wallMicros = wallMicros;
    this.zoned = cells.isPresent() && cells.get().isZoned();
    long memoryMicros =
        Math.max(
            log.map(EncodedLog::memoryMicros).orElse(0L),
            cells.map(EncodedCells::memoryMicros).orElse(0L));
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
    byte[] unused = cells.map(EncodedCells::unused).orElseGet(() -> new byte[0]);
    byte[] codes = cells.map(known -> known.codes(nowMicros)).orElseGet(() -> new byte[0]);
    int fingerprint = log.map(EncodedLog::fingerprint).orElse(0);
    ByteBuffer plan =
        ByteBuffer.allocate(PREAMBLE + logged.length + unused.length + codes.length).position(5);
    plan.put(
        (byte)
            (16 * log.map(EncodedLog::size).orElse(0) + cells.map(EncodedCells::size).orElse(0)));
    plan.putInt(cells.map(EncodedCells::fingerprint).orElse(fingerprint)).putInt(fingerprint);
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

  /** Whether all its rules read the log, and there is no ban. */
  boolean isLogOnly() {
    return logOnly;
  }

  /** The number of parts. */
  int size() {
    return parts.length;
  }

  StackPart part(int index) {
    return parts[index];
  }

  /** The part to which a rule belongs. */
  int partOf(int rule) {
    return partOf[rule];
  }

  /** The index of a rule within its part. */
  int indexInPart(int rule) {
    return indexInPart[rule];
  }

  /** Length of the reply: the status, then all parts. */
  int replyLength() {
    int length = STATUS;
    for (StackPart part : parts) {
      length += part.replyLength();
    }
    return length;
  }
}
