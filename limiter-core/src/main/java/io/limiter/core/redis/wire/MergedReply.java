// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

/** The replies of several scripts to one call, each for some of its charges. */
public final class MergedReply implements StoredDecision {

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
