// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.Readings;
import java.util.List;

/** What Redis found for a call, and how the units are known that the call took. */
interface Taken extends Readings {

  /** The rules of one charge, as the scripts read them. */
  EncodedStack stack(int charge);

  /**
   * The stamp of the units of one charge in one part of its stack, the plan, and for how long the
   * call waits, as {@code refund.lua} wants them.
   */
  byte[] returning(int charge, int part);

  /**
   * Adds units of a charge that took them, those of its log before those of its cells: the script
   * counts what it finds once for both.
   *
   * @param some how many of them
   */
  default void addTo(List<TakenUnits> units, Charge charge, int index, int some) {
    for (int part = 0; part < stack(index).size(); part++) {
      units.add(
          new TakenUnits(charge.key(), stack(index).part(part), returning(index, part), some));
    }
  }
}
