// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.Charge;
import io.limiter.core.store.DecisionReadout;

/** What Redis found for a call, and how the units are known that the call took. */
public interface StoredDecision extends DecisionReadout {

  /** The rules of one charge, as the scripts read them. */
  EncodedStack stack(int charge);

  /**
   * The stamps of the units of one charge, its plan, how many are given back of each cell, and for
   * how long the call waits, as {@code refund.lua} wants them.
   *
   * @param some how many are given back of those that the call costs
   */
  byte[] returning(int charge, int some);

  /** How many units of its log a charge gives back: fewer if others had to go for them. */
  int logged(int charge, int some);

  /**
   * The units of a charge that took them.
   *
   * @param some how many of them
   */
  default TakenUnits units(Charge charge, int index, int some) {
    return new TakenUnits(
        charge.key(), stack(index).plan(), returning(index, some), some, logged(index, some));
  }
}
