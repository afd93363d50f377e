// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.store.DecisionReadout;
import java.nio.ByteBuffer;
import java.util.Arrays;
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

  /** By the index of the charge. Charges that several scripts have decided are added one by one. */
  private final ChargeReply[] charges;

  private final long decidedAtMicros;

  /**
   * The reply of several scripts, each for some charges of the call, which are {@linkplain #add
   * added} to it. These replies have no common time.
   */
  public DecideReply(EncodedCall call) {
    this(call, 0);
  }

  private DecideReply(EncodedCall call, long decidedAtMicros) {
    this.charges = new ChargeReply[call.size()];
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
      read.charges[c] = new ChargeReply(call, c, reply, offset);
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
    return ChargeReply.banMicros(ByteBuffer.wrap(reply), reply.length - Double.BYTES);
  }

  /** A reply, or an empty one if there is none, which fits no call. */
  public static byte[] requireSome(byte @Nullable [] reply) {
    return reply == null ? new byte[0] : reply;
  }

  /**
   * Adds the reply to some charges. They may be answered on different threads; read this object
   * only after all have been added.
   *
   * @param part the indexes of the charges
   */
  public synchronized void add(int[] part, DecideReply reply) {
    for (int i = 0; i < part.length; i++) {
      charges[part[i]] = reply.charges[i];
    }
  }

  @Override
  public Status status(int charge) {
    return charges[charge].status();
  }

  @Override
  public long remainingBefore(int charge, int rule) {
    return charges[charge].remainingBefore(rule);
  }

  @Override
  public long retryAfterMicros(int charge, int rule, boolean taken) {
    return charges[charge].retryAfterMicros(rule, taken);
  }

  @Override
  public long resetAfterMicros(int charge, int rule, boolean taken) {
    return charges[charge].resetAfterMicros(rule, taken);
  }

  @Override
  public long delayMicros(int charge, int rule) {
    return charges[charge].delayMicros(rule);
  }

  @Override
  public long banMicros(int charge) {
    return charges[charge].banMicros();
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
    return charges[charge].taken(some, before);
  }

  /**
   * For how long the units of the first charge may be spent, in microseconds from the decision on:
   * the time of the lease, or less if a window ends earlier.
   */
  public long leaseMicros() {
    return charges[0].leaseMicros();
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

    /** The time of the units in a log, as it is stored. */
    public byte[] stamp() {
      return Arrays.copyOfRange(refundArgument, Double.BYTES, 2 * Double.BYTES);
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
