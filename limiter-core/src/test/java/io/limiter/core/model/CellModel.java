// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;

/**
 * How one rule that keeps numbers counts the calls of one subject.
 *
 * <p>Callers call {@link #proceed} first, on a copy: state that it discards is kept unless the call
 * is admitted.
 */
abstract class CellModel implements Cloneable {

  static CellModel of(Rule rule) {
    if (rule instanceof SlidingWindowCounterRule) {
      return new CounterModel(Plain.window(rule));
    } else if (rule instanceof FixedWindowRule fixed) {
      return new WindowModel(fixed);
    } else if (rule instanceof TokenBucketRule bucket) {
      return bucket.greedy() ? new GreedyModel() : new IntervalModel();
    } else if (rule instanceof LeakyBucketRule leaky) {
      return new LeakyModel(leaky);
    }
    return new FadingModel();
  }

  CellModel copy() {
    try {
      return (CellModel) clone();
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /** Advances to this time; later calls are evaluated under this rule. */
  abstract void proceed(Rule rule, long nowMicros);

  /** The units of a lease are taken now and may be spent until later. */
  void lease(long micros) {}

  /** When the period ends that counts the units of a call. */
  long end() {
    return Long.MAX_VALUE;
  }

  /** What the following questions are about: a call of this cost. */
  void ask(long cost) {}

  abstract long remaining();

  /** The time, 1 µs or more, until {@code wanted} units are left; there is one. */
  abstract long microsUntilLeft(long wanted);

  /** The time until more units are left than now; if none is used, until one could come back. */
  abstract long microsUntilMore();

  abstract long microsUntilReplenished();

  abstract void take(long units);

  /**
   * Gives back some of the units that a call took under a rule: the others are assumed to have come
   * back first. Returns whether any of the units was still there.
   */
  abstract boolean giveBack(Rule rule, long stamp, long units, long taken);

  /** Whether time has to start for a subject whose first call was denied. Starts it. */
  boolean begin() {
    return false;
  }
}
