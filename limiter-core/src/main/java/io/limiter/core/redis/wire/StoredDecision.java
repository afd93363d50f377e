// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.Charge;
import io.limiter.core.store.DecisionReadout;

/** The decision of Redis on a call, and the data that identifies the units that the call took. */
public interface StoredDecision extends DecisionReadout {

  /** The rules of one charge, in the encoding of the scripts. */
  EncodedStack stack(int charge);

  /**
   * The argument of {@code refund.lua} for one charge: the stamps of its units, its plan, how many
   * units are given back to each cell, and for how long the call waits.
   *
   * @param some how many of the call's units are given back
   */
  byte[] refundArgument(int charge, int some);

  /**
   * The number of units that a charge gives back to its log; fewer if its units replaced others.
   */
  int loggedUnits(int charge, int some);

  /**
   * The units of a charge that took them.
   *
   * @param some the number of units
   */
  default TakenUnits units(Charge charge, int index, int some) {
    return new TakenUnits(
        charge.key(), stack(index), refundArgument(index, some), some, loggedUnits(index, some));
  }
}
