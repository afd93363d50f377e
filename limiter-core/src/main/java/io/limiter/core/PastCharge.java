// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;

/**
 * Units that were taken while the store was away, by what decided in its place. The store records
 * them before it decides the call that brings them, whatever becomes of that call, and once however
 * often they are brought: where an id was brought before with fewer units, only those that are new.
 * For authors of stores.
 *
 * @param charge whose key is one of the call's; its cost is how many units
 * @param age the time since they were taken, zero or more; the store counts them as that old, or as
 *     old as the newest units that it has, since its logs are in order
 * @param id names these units among all that any instance brings, in 1 to 32 letters, digits, - and
 *     _
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
