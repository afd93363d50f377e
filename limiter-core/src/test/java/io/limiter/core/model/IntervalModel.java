// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;

/** A token bucket that is refilled at the end of each interval, one interval after another. */
final class IntervalModel extends CellModel {

  private TokenBucketRule bucket;
  private boolean begun;
  private long missing;

  /** Tokens missing beyond the capacity, because a rule with a larger count took them. */
  private long more;

  /** When the current interval began. */
  private long begin;

  private long now;

  @Override
  void proceed(Rule rule, long time) {
    bucket = (TokenBucketRule) rule;
    now = time;
    if (begun) {
      long all = missing + more;
      missing = Math.min(all, bucket.count());
      while (all > 0 && now - begin >= interval()) {
        all = Math.max(0, all - bucket.refill());
        refill();
      }
      more = all - missing;
      if (all == 0) {
        begin = now;
      }
    } else {
      more = 0;
      missing = bucket.count() - bucket.initial();
      begin = now;
    }
  }

  private long interval() {
    return Plain.micros(bucket.interval());
  }

  private void refill() {
    missing = Math.max(0, missing - bucket.refill());
    begin += interval();
  }

  @Override
  long end() {
    return begin + interval();
  }

  @Override
  long remaining() {
    return bucket.count() - missing;
  }

  @Override
  long microsUntilLeft(long wanted) {
    IntervalModel later = (IntervalModel) copy();
    while (later.remaining() < wanted) {
      later.refill();
    }
    return later.begin - now;
  }

  @Override
  long microsUntilMore() {
    return begin + interval() - now;
  }

  @Override
  long microsUntilReplenished() {
    return missing == 0 ? 0 : microsUntilLeft(bucket.count());
  }

  @Override
  void take(long units) {
    begun = true;
    missing += units;
  }

  /** Tokens that came back between that call and the last one are there already. */
  @Override
  boolean giveBack(Rule rule, long stamp, long units, long taken) {
    long credit = taken;
    for (long end = stamp; credit > 0 && end < begin; end += interval()) {
      credit -= ((TokenBucketRule) rule).refill();
    }
    credit = Math.min(credit, units);
    if (!begun || credit <= 0 || missing + more == 0) {
      return false;
    }
    missing = Math.max(0, missing + more - credit);
    more = 0;
    return true;
  }

  @Override
  boolean begin() {
    boolean begins = !begun && missing > 0;
    begun |= begins;
    return begins;
  }
}
