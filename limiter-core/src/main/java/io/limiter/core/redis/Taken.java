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
   * The stamp of the units of one charge in one part of its stack, and the plan, as {@code
   * refund.lua} wants them.
   */
  byte[] returning(int charge, int part);

  /**
   * Adds the units of a charge, those of its log before those of its cells: the script counts what
   * it finds once for both.
   */
  default void addTo(List<RedisReceipt.Units> units, Charge charge, int index) {
    for (int part = 0; part < stack(index).size(); part++) {
      units.add(new RedisReceipt.Units(charge, stack(index).part(part), returning(index, part)));
    }
  }
}
