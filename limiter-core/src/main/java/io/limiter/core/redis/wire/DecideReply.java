// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads the reply of {@code decide.lua}. The status of each charge is the decision. If the numbers
 * contradict it, the reply is rejected and the call is decided elsewhere. The same applies to
 * impossible numbers: a reply of the right length may still come from another script, or from a
 * value that other software wrote under a key.
 */
public final class DecideReply implements DecisionReadout {

  /** The status characters of {@code decide.lua}. */
  public static final char ADMITTED = 'A';

  static final char LIMITED = 'L';
  static final char BANNED = 'B';

  /** In microseconds, the year 2255: no time is later, and doubles below it are exact. */
  static final double LATEST = 0x1p53;

  private static final int[] NONE = {};

  private final EncodedCall call;

  /** The reply to each charge. Charges that one script has decided share a reply. */
  private final ByteBuffer[] replies;

  /** Where the numbers of each charge begin in its reply, after its status. */
  private final int[] offsets;

  private final Status[] statuses;

  /** Of charges whose stacks have cells. */
  private final EncodedCells.@Nullable Readout[] cells;

  /** The remaining time of each charge's ban. */
  private final long[] bansMicros;

  private final long decidedAtMicros;

  /**
   * The reply of several scripts, each for some charges of the call, which are {@linkplain #add
   * added} to it. These replies have no common time.
   */
  public DecideReply(EncodedCall call) {
    this(call, 0);
  }

  private DecideReply(EncodedCall call, long decidedAtMicros) {
    this.call = call;
    this.replies = new ByteBuffer[call.size()];
    this.offsets = new int[call.size()];
    this.statuses = new Status[call.size()];
    this.cells = new EncodedCells.Readout[call.size()];
    this.bansMicros = new long[call.size()];
    this.decidedAtMicros = decidedAtMicros;
  }

  /** The reply of one script. */
  static DecideReply of(EncodedCall call, byte @Nullable [] bytes) {
    if (bytes == null || !call.fits(bytes)) {
      throw new StoreException(
          FailureReason.ERROR,
          "Redis replied to a decision with %s bytes instead of %s"
              .formatted(bytes == null ? "no" : bytes.length, call.replyLength()),
          null);
    }
    ByteBuffer reply = ByteBuffer.wrap(bytes);
    DecideReply read = new DecideReply(call, (long) reply.getDouble(EncodedStack.STATUS));
    int offset = 0;
    for (int c = 0; c < call.size(); c++) {
      read.read(c, reply, offset);
      offset += call.stack(c).replyLength();
    }
    return read;
  }

  /** Whether a reply has the length of one about a ban alone. */
  public static boolean isOfBan(byte[] reply) {
    return reply.length == EncodedStack.BAN_ALONE_REPLY;
  }

  /**
   * Reads the remaining time of a ban from a reply about it alone.
   *
   * @throws StoreException if it is no such reply, or the time is impossible
   */
  public static double banMicros(byte[] reply) {
    if (!isOfBan(reply)) {
      throw new StoreException(
          FailureReason.ERROR,
          "Redis replied about a ban with %s bytes instead of %s"
              .formatted(reply.length, EncodedStack.BAN_ALONE_REPLY),
          null);
    }
    return timeMicros(ByteBuffer.wrap(reply).getDouble(reply.length - Double.BYTES), LATEST);
  }

  /** A reply, or an empty one if there is none, which fits no call. */
  public static byte[] requireSome(byte @Nullable [] reply) {
    return reply == null ? new byte[0] : reply;
  }

  private void read(int c, ByteBuffer reply, int offset) {
    EncodedStack stack = call.stack(c);
    int cost = call.charge(c).cost();
    replies[c] = reply;
    offsets[c] = offset + EncodedStack.STATUS;
    statuses[c] = status(reply.get(offset));
    EncodedLog log = stack.log();
    long nowMicros = (long) timeMicros(reply.getDouble(offsets[c]), LATEST);
    if (log != null) {
      log.check(reply, offsets[c] + stack.logOffset(), nowMicros, call.mode(), cost);
    }
    EncodedCells numbers = stack.cells();
    if (numbers != null) {
      cells[c] =
          numbers.read(
              reply,
              offsets[c] + stack.cellsOffset(),
              nowMicros,
              call.mode(),
              cost,
              call.leaseMicros());
    }
    if (stack.bans()) {
      bansMicros[c] = (long) timeMicros(reply.getDouble(offsets[c] + stack.banOffset()), LATEST);
    }
    requireAgreement(c);
  }

  /**
   * Adds the reply to some charges. They may be answered on different threads; read this object
   * only after all have been added.
   *
   * @param part the indexes of the charges
   */
  public synchronized void add(int[] part, DecideReply reply) {
    for (int i = 0; i < part.length; i++) {
      replies[part[i]] = reply.replies[i];
      offsets[part[i]] = reply.offsets[i];
      statuses[part[i]] = reply.statuses[i];
      cells[part[i]] = reply.cells[i];
      bansMicros[part[i]] = reply.bansMicros[i];
    }
  }

  private static Status status(byte status) {
    return switch (status) {
      case ADMITTED -> Status.ADMITTED;
      case LIMITED -> Status.LIMITED;
      case BANNED -> Status.BANNED;
      default ->
          throw new StoreException(
              FailureReason.ERROR,
              "Redis replied to a decision with the status %s instead of %s, %s or %s"
                  .formatted(status, (int) ADMITTED, (int) LIMITED, (int) BANNED),
              null);
    };
  }

  /**
   * Checks a time in microseconds.
   *
   * @throws StoreException if it is negative, above {@code most}, or not a number
   */
  static double timeMicros(double micros, double most) {
    if (!(micros >= 0 && micros <= most)) {
      throw strange("time", micros, 0, most);
    }
    return micros;
  }

  /**
   * Checks a retry-after of a cell, which may be {@link
   * io.limiter.core.store.DecisionReadout#NEVER}.
   */
  static long retryAfterMicros(long micros) {
    return micros == DecisionReadout.NEVER ? micros : (long) timeMicros((double) micros, LATEST);
  }

  /** Checks units that are left; they may be negative. */
  static long remainingBefore(long remainingBefore, long most) {
    if (remainingBefore > most || remainingBefore < -LATEST) {
      throw strange("number of units left", (double) remainingBefore, -LATEST, (double) most);
    }
    return remainingBefore;
  }

  /**
   * Checks a state value of a custom algorithm, which must only receive values that it has written.
   */
  static double finite(double number) {
    if (!Double.isFinite(number)) {
      throw strange("number", number, -Double.MAX_VALUE, Double.MAX_VALUE);
    }
    return number;
  }

  private static StoreException strange(String what, double number, double least, double most) {
    return new StoreException(
        FailureReason.ERROR,
        "Redis replied to a decision with the %s %s instead of one from %s to %s"
            .formatted(what, number, least, most),
        null);
  }

  /**
   * Checks that status and numbers agree. The status is what the script acted on, the numbers are
   * what the verdict reports. Both follow from the same state by code that exists twice, in Lua and
   * in Java, and may differ for a custom algorithm. Then neither can be used: the call would be
   * admitted without being counted, or the reverse.
   */
  private void requireAgreement(int c) {
    Mode mode = call.mode();
    Status byNumbers = Status.ADMITTED;
    if (mode != Mode.RECORD) {
      boolean bans =
          mode == Mode.PEEK || !call.charge(c).observed(); // otherwise the script reads no ban
      if (bans && banMicros(c) > 0) {
        byNumbers = Status.BANNED;
      } else if (isShort(c)) {
        byNumbers = Status.LIMITED;
      }
    }
    if (statuses[c] != byNumbers) {
      throw disagreement(c, byNumbers);
    }
  }

  private boolean isShort(int c) {
    for (int rule = 0; rule < call.charge(c).stack().rules().size(); rule++) {
      if (remainingBefore(c, rule) < call.charge(c).cost()) {
        return true;
      }
    }
    return false;
  }

  private StoreException disagreement(int c, Status byNumbers) {
    List<Rule> suspects = suspects(c);
    String names = suspects.stream().map(DecideReply::name).collect(Collectors.joining(" or "));
    boolean own = suspects.stream().anyMatch(CustomRule.class::isInstance);
    return new StoreException(
        FailureReason.ERROR,
        "Redis replied to a decision with the status %s, but its numbers give %s, under %s%s"
            .formatted(
                statuses[c],
                byNumbers,
                names,
                own ? ": make the algorithm's script() and read() return the same" : ""),
        null);
  }

  /**
   * The rules that deny the call by the numbers; if there are none, the script may have applied any
   * of them.
   */
  private List<Rule> suspects(int c) {
    List<Rule> rules = call.charge(c).stack().rules();
    List<Rule> all = new ArrayList<>();
    List<Rule> own = new ArrayList<>();
    for (int rule = 0; rule < rules.size(); rule++) {
      if (!isShort(c) || remainingBefore(c, rule) < call.charge(c).cost()) {
        all.add(rules.get(rule));
        if (rules.get(rule) instanceof CustomRule) {
          own.add(rules.get(rule));
        }
      }
    }
    return own.isEmpty() ? all : own;
  }

  private static String name(Rule rule) {
    String algorithm =
        rule instanceof CustomRule custom
            ? "'" + custom.algorithm().name() + "'"
            : rule.getClass().getSimpleName();
    return "the algorithm %s of the rule '%s'".formatted(algorithm, rule.name());
  }

  @Override
  public Status status(int charge) {
    return statuses[charge];
  }

  @Override
  public long remainingBefore(int charge, int rule) {
    EncodedLog log = call.stack(charge).logOf(rule);
    int index = call.stack(charge).indexInPart(rule);
    return log != null
        ? log.remainingBefore(replies[charge], logOffset(charge), index)
        : cells(charge).remainingBefore(index);
  }

  @Override
  public long retryAfterMicros(int charge, int rule, boolean taken) {
    EncodedLog log = call.stack(charge).logOf(rule);
    int index = call.stack(charge).indexInPart(rule);
    return log != null
        ? log.retryAfterMicros(replies[charge], logOffset(charge), index)
        : cells(charge).retryAfterMicros(index, taken);
  }

  @Override
  public long resetAfterMicros(int charge, int rule, boolean taken) {
    EncodedLog log = call.stack(charge).logOf(rule);
    int index = call.stack(charge).indexInPart(rule);
    return log != null
        ? log.resetAfterMicros(
            replies[charge],
            logOffset(charge),
            index,
            taken,
            replies[charge].getDouble(offsets[charge]),
            call.leaseMicros())
        : cells(charge).resetAfterMicros(index, taken);
  }

  @Override
  public long delayMicros(int charge, int rule) {
    return call.stack(charge).logOf(rule) != null
        ? 0
        : cells(charge).delayMicros(call.stack(charge).indexInPart(rule));
  }

  private int logOffset(int charge) {
    return offsets[charge] + call.stack(charge).logOffset();
  }

  private EncodedCells.Readout cells(int charge) {
    return Objects.requireNonNull(cells[charge]);
  }

  @Override
  public long banMicros(int charge) {
    return bansMicros[charge];
  }

  /** On the clock of the node that has decided; 0 if several have. */
  @Override
  public long decidedAtMicros() {
    return decidedAtMicros;
  }

  /**
   * The units that a charge took, or some of them.
   *
   * @param some the number of units
   */
  public TakenUnits taken(int charge, int some) {
    return taken(charge, some, 0);
  }

  /**
   * Some of the units that a charge took.
   *
   * @param some the number of units
   * @param before the number of its units that were given back before
   */
  public TakenUnits taken(int charge, int some, int before) {
    return new TakenUnits(
        call.charge(charge).key(),
        call.stack(charge),
        refundArgument(charge, some, before),
        some,
        loggedUnits(charge, some));
  }

  /**
   * For how long the units of the first charge may be spent, in microseconds from the decision on:
   * the time of the lease, or less if a window ends earlier.
   */
  public long leaseMicros() {
    EncodedCells.Readout numbers = cells[0];
    return numbers == null
        ? call.leaseMicros()
        : Math.min(call.leaseMicros(), numbers.spendableUntilMicros() - decidedAtMicros);
  }

  /**
   * The argument of {@code refund.lua}: the time of the decision, the stamp of its units in a log,
   * for how long the call waits, the plan, and how many units are given back to each cell.
   */
  private byte[] refundArgument(int charge, int some, int before) {
    EncodedStack stack = call.stack(charge);
    EncodedLog log = stack.log();
    double nowMicros = replies[charge].getDouble(offsets[charge]);
    EncodedCells.Readout numbers = cells[charge];
    int[] taken = numbers == null ? NONE : numbers.taken();
    byte[] plan = stack.ofTaken(call.charge(charge).cost());
    ByteBuffer argument =
        ByteBuffer.allocate(8 + 8 + 8 + plan.length + 8 * taken.length)
            .putDouble(nowMicros)
            .putDouble(
                log == null
                    ? nowMicros
                    : log.stampMicros(
                        replies[charge], logOffset(charge), nowMicros, call.leaseMicros()))
            .putDouble(numbers == null ? 0 : (double) numbers.departureParts())
            .put(plan);
    for (int units : taken) {
      argument.putInt(givenBack(charge, units, some)).putInt(units - before);
    }
    return argument.array();
  }

  private int loggedUnits(int charge, int some) {
    EncodedLog log = call.stack(charge).log();
    return log == null
        ? 0
        : givenBack(
            charge,
            log.taken(replies[charge], logOffset(charge), call.charge(charge).cost()),
            some);
  }

  /**
   * Of the units that a rule took, those that it would not have taken for a call that costs less.
   */
  private int givenBack(int charge, int taken, int some) {
    return Math.max(0, taken - (call.charge(charge).cost() - some));
  }

  /** Units under one key that a decision took. */
  public static final class TakenUnits {

    public final StateKey key;
    public final EncodedStack stack;
    public final int units;

    /** The number of units that a log gives back; fewer if they replaced others. */
    public final int loggedUnits;

    /**
     * The refund argument. Each renewal of a concurrency permit changes its stamp, on a thread of
     * Lettuce.
     */
    private volatile byte[] refundArgument;

    /**
     * @param refundArgument the argument of {@code refund.lua}
     * @param units the number of units, 1 or more
     */
    public TakenUnits(
        StateKey key, EncodedStack stack, byte[] refundArgument, int units, int loggedUnits) {
      this.key = key;
      this.stack = stack;
      this.refundArgument = refundArgument;
      this.units = units;
      this.loggedUnits = loggedUnits;
    }

    public byte[] refundArgument() {
      return refundArgument;
    }

    /**
     * @param stamp the new time of the units
     */
    public void renewed(double stamp) {
      byte[] argument = refundArgument.clone();
      ByteBuffer.wrap(argument).putDouble(stamp).putDouble(stamp);
      refundArgument = argument;
    }
  }
}
