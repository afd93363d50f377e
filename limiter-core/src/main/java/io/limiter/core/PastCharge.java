// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;

/**
 * Units that the fallback took while the store was away. The store records them before it decides
 * the call that carries them, whether or not it admits that call. It records each id once, however
 * often the id is sent; if an id is sent again with more units, the store records the difference.
 * For authors of stores.
 *
 * @param charge a charge under one of the keys of the call; its cost is the number of units
 * @param age the time since the units were taken, zero or more. The store counts them as that old,
 *     but not as older than the newest units it holds, since its logs are in order
 * @param id identifies these units among those that any instance sends: 1 to 32 letters, digits, -
 *     and _
 */
public record PastCharge(Charge charge, Duration age, String id) {

  public PastCharge {
    if (age.isNegative() || !id.matches("[A-Za-z0-9_-]{1,32}")) {
      throw new IllegalArgumentException(
          "Past units of the age %s with the id '%s': give them an age of zero or more, and 1 to 32 letters, digits, - and _"
              .formatted(age, id));
    }
  }
}
