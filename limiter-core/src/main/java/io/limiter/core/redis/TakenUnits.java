// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Key;

/** Some units of one key: those that a decision put there. */
final class TakenUnits {

  final Key key;
  final StackPlan plan;
  final int units;

  /** Where they are leased, each renewal gives them another stamp, on a thread of Lettuce. */
  private volatile byte[] returning;

  /**
   * @param returning their stamp and the plan, as {@code refund.lua} wants them
   * @param units how many of them, 1 or more
   */
  TakenUnits(Key key, StackPlan plan, byte[] returning, int units) {
    this.key = key;
    this.plan = plan;
    this.returning = returning;
    this.units = units;
  }

  byte[] returning() {
    return returning;
  }

  void renewed(byte[] stamp) {
    returning = stamp;
  }
}
