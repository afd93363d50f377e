// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads the reply of {@code decide.lua}. The status of each charge is the decision. If the numbers
 * contradict it, the reply is rejected and the call is decided elsewhere. So it is if they are
 * impossible: a reply of the right length may still come from another script, or from a value that
 * other software wrote under a key.
 */
public final class DecideReply implements StoredDecision {

  /** The status characters of {@code decide.lua}. */
  public static final char ADMITTED = 'A';

  static final char LIMITED = 'L';
  static final char BANNED = 'B';

  /** In microseconds, the year 2255: no time is later, and doubles below it are exact. */
  static final double LATEST = 0x1p53;

  private final ByteBuffer reply;
  private final EncodedStack[] stacks;
  private final Charge[] charges;

  /** Where the parts of each charge begin, after its status; they follow each other. */
  private final int[] offsets;

  private final Status[] statuses;
  private final StackPart.PartReadout[][] parts;

  public DecideReply(byte @Nullable [] reply, EncodedStack[] stacks, Charge[] charges, Mode mode) {
    this.stacks = stacks;
    this.charges = charges;
    this.offsets = new int[stacks.length];
    int length = 0;
    for (int i = 0; i < stacks.length; i++) {
      offsets[i] = length + EncodedStack.STATUS;
      length += stacks[i].replyLength();
    }
    if (reply == null || reply.length != length) {
      throw new StoreException(
          FailureReason.ERROR,
          "Redis answered a decision with %s bytes instead of %d"
              .formatted(reply == null ? "no" : reply.length, length),
          null);
    }
    this.reply = ByteBuffer.wrap(reply);
    this.statuses = new Status[stacks.length];
    this.parts = new StackPart.PartReadout[stacks.length][];
    for (int i = 0; i < stacks.length; i++) {
      statuses[i] = status(this.reply.get(offsets[i] - EncodedStack.STATUS));
      parts[i] = new StackPart.PartReadout[stacks[i].size()];
      for (int part = 0; part < parts[i].length; part++) {
        parts[i][part] =
            stacks[i].part(part).read(this.reply, offset(i, part), mode, charges[i].cost());
      }
      requireAgreement(i, mode);
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
              "Redis answered a decision with the status %d instead of %d, %d or %d"
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
        "Redis answered a decision with the %s %s instead of one from %s to %s"
            .formatted(what, number, least, most),
        null);
  }

  /**
   * Checks that status and numbers agree. The status is what the script acted on, the numbers are
   * what the verdict reports. Both follow from the same state by code that exists twice, in Lua and
   * in Java, and may differ for a custom algorithm. Then neither can be used: the call would be
   * admitted without being counted, or the reverse.
   */
  private void requireAgreement(int c, Mode mode) {
    Status byNumbers = Status.ADMITTED;
    if (mode != Mode.RECORD) {
      boolean bans =
          mode == Mode.PEEK || !charges[c].observed(); // otherwise the script reads no ban
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
    for (int rule = 0; rule < charges[c].stack().rules().size(); rule++) {
      if (remainingBefore(c, rule) < charges[c].cost()) {
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
        "Redis answered a decision with the status %s, but its numbers give %s, under %s%s"
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
    List<Rule> rules = charges[c].stack().rules();
    List<Rule> all = new ArrayList<>();
    List<Rule> own = new ArrayList<>();
    for (int rule = 0; rule < rules.size(); rule++) {
      if (!isShort(c) || remainingBefore(c, rule) < charges[c].cost()) {
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
    return part(charge, rule).remainingBefore(stacks[charge].indexInPart(rule));
  }

  @Override
  public long retryAfterMicros(int charge, int rule, boolean taken) {
    return part(charge, rule).retryAfterMicros(stacks[charge].indexInPart(rule), taken);
  }

  @Override
  public long resetAfterMicros(int charge, int rule, boolean taken) {
    return part(charge, rule).resetAfterMicros(stacks[charge].indexInPart(rule), taken);
  }

  @Override
  public long delayMicros(int charge, int rule) {
    return part(charge, rule).delayMicros(stacks[charge].indexInPart(rule));
  }

  private StackPart.PartReadout part(int charge, int rule) {
    return parts[charge][stacks[charge].partOf(rule)];
  }

  @Override
  public long banMicros(int charge) {
    return parts[charge][parts[charge].length - 1].banMicros();
  }

  @Override
  public long decidedAtMicros() {
    return (long) reply.getDouble(offsets[0]);
  }

  @Override
  public byte[] refundArgument(int charge, int some) {
    EncodedStack stack = stacks[charge];
    if (stack.isLogOnly()) {
      byte[] stamp = new byte[8];
      reply.get(offsets[charge], stamp);
      return stamp;
    }
    int cells = stack.size() - 1;
    int[] taken = parts[charge][cells].taken();
    byte[] plan = stack.ofTaken(charges[charge].cost());
    ByteBuffer argument =
        ByteBuffer.allocate(8 + 8 + plan.length + 8 * taken.length + 8)
            .putDouble(cells == 0 ? 0 : reply.getDouble(offsets[charge]))
            .putDouble(reply.getDouble(offset(charge, cells)))
            .put(plan);
    for (int units : taken) {
      argument.putInt(givenBack(charge, units, some)).putInt(units);
    }
    return argument.putDouble((double) parts[charge][cells].departureParts()).array();
  }

  @Override
  public int loggedUnits(int charge, int some) {
    boolean hasLog = stacks[charge].isLogOnly() || stacks[charge].size() > 1;
    return hasLog ? givenBack(charge, parts[charge][0].taken()[0], some) : 0;
  }

  /**
   * Of the units that a rule took, those that it would not have taken for a call that costs less.
   */
  private int givenBack(int charge, int taken, int some) {
    return Math.max(0, taken - (charges[charge].cost() - some));
  }

  @Override
  public EncodedStack stack(int charge) {
    return stacks[charge];
  }

  private int offset(int charge, int part) {
    return part == 0 ? offsets[charge] : offsets[charge] + stacks[charge].part(0).replyLength();
  }

  /** The replies of several scripts to one call, each for some of its charges. */
  public static final class MergedReply implements StoredDecision {

    private final DecideReply[] replies;
    private final int[] places;

    /**
     * @param charges the number of charges of the call
     */
    public MergedReply(int charges) {
      this.replies = new DecideReply[charges];
      this.places = new int[charges];
    }

    /**
     * The parts may be answered on different threads; read this object only after all have been
     * added.
     */
    public synchronized void add(int[] part, DecideReply reply) {
      for (int i = 0; i < part.length; i++) {
        replies[part[i]] = reply;
        places[part[i]] = i;
      }
    }

    @Override
    public Status status(int charge) {
      return replies[charge].status(places[charge]);
    }

    @Override
    public long remainingBefore(int charge, int rule) {
      return replies[charge].remainingBefore(places[charge], rule);
    }

    @Override
    public long retryAfterMicros(int charge, int rule, boolean taken) {
      return replies[charge].retryAfterMicros(places[charge], rule, taken);
    }

    @Override
    public long resetAfterMicros(int charge, int rule, boolean taken) {
      return replies[charge].resetAfterMicros(places[charge], rule, taken);
    }

    @Override
    public long delayMicros(int charge, int rule) {
      return replies[charge].delayMicros(places[charge], rule);
    }

    @Override
    public long banMicros(int charge) {
      return replies[charge].banMicros(places[charge]);
    }

    @Override
    public EncodedStack stack(int charge) {
      return replies[charge].stack(places[charge]);
    }

    @Override
    public byte[] refundArgument(int charge, int some) {
      return replies[charge].refundArgument(places[charge], some);
    }

    @Override
    public int loggedUnits(int charge, int some) {
      return replies[charge].loggedUnits(places[charge], some);
    }
  }
}
