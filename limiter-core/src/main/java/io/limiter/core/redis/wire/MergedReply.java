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
  public long left(int charge, int rule) {
    return replies[charge].left(places[charge], rule);
  }

  @Override
  public long waitFor(int charge, int rule, boolean taken) {
    return replies[charge].waitFor(places[charge], rule, taken);
  }

  @Override
  public long resetAfter(int charge, int rule, boolean taken) {
    return replies[charge].resetAfter(places[charge], rule, taken);
  }

  @Override
  public long delay(int charge, int rule) {
    return replies[charge].delay(places[charge], rule);
  }

  @Override
  public long bannedFor(int charge) {
    return replies[charge].bannedFor(places[charge]);
  }

  @Override
  public EncodedStack stack(int charge) {
    return replies[charge].stack(places[charge]);
  }

  @Override
  public byte[] returning(int charge, int some) {
    return replies[charge].returning(places[charge], some);
  }

  @Override
  public int logged(int charge, int some) {
    return replies[charge].logged(places[charge], some);
  }
}
