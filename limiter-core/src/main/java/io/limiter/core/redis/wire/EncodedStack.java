// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Charge;
import io.limiter.core.Mode;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.rule.RuleStack;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * A stack of rules in the encoding of the scripts; created once for each stack. It has a part for
 * the rules with a log, one for those that keep numbers, and one for the ban. Each part has its own
 * reply. The rules share one key; the ban has its own.
 */
public final class EncodedStack {

  /** The status of the charge and the time of the decision, before the replies of the parts. */
  static final int STATUS = 1;

  static final int BEGIN = STATUS + 8;

  static final int BAN_REPLY = 8;

  /** Bytes of the reply to a plan that is a ban alone. */
  static final int BAN_ALONE_REPLY = BEGIN + BAN_REPLY;

  /** A log of at most this many units is short: it is read and written as a whole. */
  private static final int EXACT_SIZE_UNITS = 118;

  /** A key outlives its use by this time, so that it cannot expire while a script runs. */
  private static final long SLACK_MILLIS = 1_000;

  /** Mode, cost, sizes, place of the ban, length of the head, memory. */
  static final int PREAMBLE = 1 + 4 + 1 + 1 + 2 + 8;

  /** How often the nearest change of clocks, which the plan contains, is looked up. */
  private static final long RENEWED_MICROS = Duration.ofHours(1).toNanos() / 1_000;

  /** Where a plan has a ban: nowhere, beside the rules, or alone. */
  static final byte NO_BAN = 0;

  static final byte BESIDE = 1;
  static final byte ALONE = 2;

  /** The mode of a charge that takes units in advance. */
  private static final byte LEASE = 2;

  /** Bytes of the parameters of a ban in a plan. */
  static final int BAN_PLAN = 40;

  private final EncodedLog log;
  private final EncodedCells cells;
  private final RuleStack stack;
  private final Optional<BanRule> ban;
  private final LongSupplier wallMicros;
  private final boolean zoned;
  private final long memoryMicros;
  private final long neededMicros;
  private final byte[] ttl;
  private final int micros;
  private final int replyLength;
  private volatile Encoded encoded;

  /**
   * @param algorithms the custom algorithms in the scripts
   * @param wallMicros the wall clock, for the changes of the clocks of time zones
   */
  public EncodedStack(RuleStack stack, List<CustomAlgorithm> algorithms, LongSupplier wallMicros) {
    this.stack = stack;
    log = new EncodedLog(stack);
    cells = new EncodedCells(stack, algorithms);
    ban = stack.ban();
    replyLength = BEGIN + log.replyLength + cells.replyLength() + (ban.isPresent() ? BAN_REPLY : 0);
    micros = micros(stack);
    this.wallMicros = wallMicros;
    this.zoned = cells.isZoned();
    this.neededMicros = Math.max(stack.horizonMicros(), cells.memoryMicros()) + stack.banMicros();
    long claim = MICROSECONDS.convert(stack.claim());
    this.memoryMicros = claim > 0 ? claim : neededMicros;
    this.ttl = claim > 0 ? ttlOfClaim(claim) : ttlOf(neededMicros);
    this.encoded = new Encoded(wallMicros.getAsLong());
  }

  private static byte[] ttlOf(long micros) {
    return millis((micros + micros / 16 + 999) / 1_000 + SLACK_MILLIS);
  }

  /** Exactly this, since the key of a claimed guard is there only as long as it counts. */
  private static byte[] ttlOfClaim(long micros) {
    return millis(Math.max(1, (micros + 999) / 1_000));
  }

  private static byte[] millis(long millis) {
    return Long.toString(millis).getBytes(StandardCharsets.US_ASCII);
  }

  /**
   * By the measurements in docs/internals/redis-state.md and docs/internals/benchmarks.md, rounded
   * up. A custom algorithm may take longer.
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

  /** The encoded plans at some time. */
  private final class Encoded {
    final long madeAtMicros;
    final byte[] plan;
    final byte[] acquireOne;

    /** Without the ban, which does not concern units that were taken. */
    final byte[] rules;

    Encoded(long nowMicros) {
      this.madeAtMicros = nowMicros;
      this.rules = encode(NO_BAN, nowMicros);
      this.plan = ban.isPresent() ? encode(BESIDE, nowMicros) : rules;
      this.acquireOne = with(plan, code(Mode.ACQUIRE, false), 1);
    }
  }

  private static byte[] with(byte[] plan, byte mode, int cost) {
    byte[] argument = plan.clone();
    ByteBuffer.wrap(argument).put(mode).putInt(cost);
    return argument;
  }

  private byte[] encode(byte banPlace, long nowMicros) {
    byte[] codes = cells.codes(nowMicros);
    byte[] banPlan = banPlace == NO_BAN ? new byte[0] : ban.map(this::encode).orElseThrow();
    int head = log.headLength() + cells.length();
    ByteBuffer plan =
        ByteBuffer.allocate(PREAMBLE + banPlan.length + log.plan().length + codes.length + head)
            .position(5);
    plan.put((byte) (16 * stack.logs() + stack.cells()));
    plan.put(banPlace).putShort((short) head).putDouble((double) memoryMicros);
    return plan.put(log.plan()).put(codes).put(banPlan).array();
  }

  private byte[] encode(BanRule rule) {
    ByteBuffer plan = ByteBuffer.allocate(BAN_PLAN).putDouble(rule.violations());
    plan.putDouble((double) MICROSECONDS.convert(rule.within()));
    plan.putDouble((double) MICROSECONDS.convert(rule.time()));
    return plan.putDouble(rule.growth())
        .putDouble((double) MICROSECONDS.convert(rule.longest()))
        .array();
  }

  /** A plan that only asks for the ban, or counts a violation. */
  byte[] ofBan(Mode mode) {
    byte[] plan =
        ByteBuffer.allocate(PREAMBLE + BAN_PLAN)
            .put(code(mode, false))
            .putInt(1)
            .put((byte) 0)
            .put(ALONE)
            .array();
    System.arraycopy(ban.map(this::encode).orElseThrow(), 0, plan, PREAMBLE, BAN_PLAN);
    return plan;
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
        : with(known.plan, code(mode, charge.observed()), charge.cost());
  }

  /** The same plan argument, as if this process's clock showed another time. */
  byte[] argumentAt(long micros, byte[] argument) {
    byte[] plan = new Encoded(micros).plan;
    System.arraycopy(argument, 0, plan, 0, 1 + 4); // the mode and the cost
    return plan;
  }

  /** The plan argument that takes units of a lease. */
  byte[] argumentOfLease(int units) {
    return with(current().plan, LEASE, units);
  }

  /** The plan argument of one call, without the ban. */
  public byte[] argumentOfRules(Mode mode, Charge charge) {
    return with(current().rules, code(mode, charge.observed()), charge.cost());
  }

  /**
   * The plan for {@code refund.lua} and {@code renew.lua}.
   *
   * @param units the number of units in the log. If they are renewed, no other unit has to go
   */
  public byte[] ofTaken(int units) {
    byte[] plan = with(current().rules, code(Mode.RECORD, false), units);
    if (stack.logs() > 0) {
      ByteBuffer.wrap(plan).putInt(PREAMBLE + log.plan().length - 4, Integer.MAX_VALUE);
    }
    return plan;
  }

  /** The time to live of the key, in ms, as text. */
  public byte[] ttl() {
    return ttl;
  }

  /** The same for units that memory took so long ago. No process renews a claim of them. */
  byte[] ttlOfRecord(long ageMicros) {
    return stack.claim().isZero() ? ttl : ttlOfClaim(neededMicros - ageMicros);
  }

  /**
   * @param observed whether the charge must not deny the call
   */
  private static byte code(Mode mode, boolean observed) {
    return switch (mode) {
      case PEEK -> 0;
      case ACQUIRE -> (byte) (observed ? 4 : 1);
      case RECORD -> 3;
    };
  }

  /** The rules with a log. */
  EncodedLog log() {
    return log;
  }

  /** The rules that keep numbers. */
  EncodedCells cells() {
    return cells;
  }

  /** Whether the stack has a ban, which has a key of its own. */
  boolean bans() {
    return ban.isPresent();
  }

  /** Length of the reply: the status, the time, the log, the cells, and the ban. */
  int replyLength() {
    return replyLength;
  }
}
