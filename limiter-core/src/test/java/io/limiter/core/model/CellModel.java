// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.rule.TokenBucketRule;

/**
 * How one rule that keeps numbers counts the calls of one subject.
 *
 * <p>Callers call {@link #proceed} first, on a copy: state that it discards is kept unless the call
 * is admitted.
 */
abstract class CellModel {

  /** What rules with interchangeable cells have in common: everything but name and count. */
  static String kind(Rule rule) {
    if (rule instanceof SlidingWindowCounter) {
      return "counter of " + rule.window();
    } else if (rule instanceof FixedWindowRule fixed) {
      return "window of %s %s".formatted(fixed.window(), fixed.alignment());
    } else if (rule instanceof TokenBucketRule bucket) {
      return "bucket of %d in %s %b".formatted(bucket.refill(), bucket.interval(), bucket.greedy());
    } else if (rule instanceof LeakyBucketRule leaky) {
      return "leaky bucket of %d in %s".formatted(leaky.count(), leaky.window());
    }
    CustomRule custom = (CustomRule) rule;
    return "%s of %s %s %s"
        .formatted(
            custom.algorithm().name(), custom.window(), custom.parameters(), custom.memory());
  }

  static CellModel of(Rule rule) {
    if (rule instanceof SlidingWindowCounter) {
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

  abstract CellModel copy();

  /** Advances to this time; later calls are evaluated under this rule. */
  abstract void proceed(Rule rule, long nowMicros);

  /** What the following questions are about: a call of this cost. */
  void ask(long cost) {}

  abstract long remaining();

  /** The time, 1 µs or more, until {@code wanted} units are left; there is one. */
  abstract long microsUntilLeft(long wanted);

  /** The time until more units are left than now; if none is used, until one could come back. */
  abstract long microsUntilMore();

  abstract long microsUntilReplenished();

  abstract void take(long units);

  /** Whether any of the units was still there. */
  abstract boolean giveBack(long stamp, long units);

  /**
   * The same for some of the units that a call took: the others are assumed to have come back
   * first.
   */
  boolean giveBack(long stamp, long units, long taken) {
    return giveBack(stamp, units);
  }

  /** Whether time has to start for a subject whose first call was denied. Starts it. */
  boolean begin() {
    return false;
  }
}
