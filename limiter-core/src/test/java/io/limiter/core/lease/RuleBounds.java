// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.lease;

import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.util.ArrayList;
import java.util.List;

/** What each rule promises, of the times at which units were admitted. */
public final class RuleBounds {

  private RuleBounds() {}

  /** Units that were admitted together, at a time in microseconds. */
  public record Admitted(long at, int units) {}

  /**
   * By how many units a rule was exceeded; 0 or less if it was not.
   *
   * @param writes when the store took units: an anchored window begins with the first of them
   */
  public static long over(Rule rule, List<Admitted> units, List<Long> writes) {
    long windowMicros = rule.window().toNanos() / 1_000;
    List<Admitted> all = units.stream().sorted((a, b) -> Long.compare(a.at, b.at)).toList();
    if (rule instanceof TokenBucketRule bucket) {
      return overBucket(bucket, all);
    } else if (rule instanceof SlidingWindowCounterRule) {
      return overCounter(rule, windowMicros, all);
    } else if (rule instanceof FixedWindowRule fixed) {
      return overWindows(
          rule,
          fixed.alignment().isPresent()
              ? aligned(windowMicros, all)
              : anchored(windowMicros, writes),
          all);
    }
    long most = -rule.count();
    long sum = 0;
    int first = 0;
    for (Admitted each : all) {
      sum += each.units;
      while (all.get(first).at <= each.at - windowMicros) {
        sum -= all.get(first++).units;
      }
      most = Math.max(most, sum - rule.count());
    }
    return most;
  }

  /** In any time t at most count + rate * t; of tokens that come back together one refill more. */
  private static long overBucket(TokenBucketRule bucket, List<Admitted> all) {
    double interval = bucket.interval().toNanos() / 1_000.0;
    double rate = bucket.refill() / interval;
    double slack = bucket.greedy() ? 0 : bucket.refill();
    double most = -bucket.count();
    double sum = 0;
    double least = 0;
    for (Admitted each : all) {
      double back = rate * (each.at - all.get(0).at); // small, so that doubles are exact enough
      least = Math.min(least, sum - back);
      sum += each.units;
      most = Math.max(most, sum - back - least - bucket.count() - slack);
    }
    return (long) Math.ceil(most - 1e-6);
  }

  private static long overCounter(Rule rule, long windowMicros, List<Admitted> all) {
    long most = -rule.count();
    long window = 0;
    long previous = 0;
    long current = 0;
    for (Admitted each : all) {
      long own = each.at / windowMicros;
      if (own != window) {
        previous = own == window + 1 ? current : 0;
        current = 0;
        window = own;
      }
      current += each.units;
      long past = each.at % windowMicros;
      double weight = (double) previous * (double) (windowMicros - past) / (double) windowMicros;
      most = Math.max(most, current + (long) Math.ceil(weight - 1e-6) - rule.count());
    }
    return most;
  }

  private static List<Long> aligned(long windowMicros, List<Admitted> all) {
    return all.stream().map(each -> each.at - each.at % windowMicros).distinct().toList();
  }

  /** A window begins with the first write after the one before. */
  private static List<Long> anchored(long windowMicros, List<Long> writes) {
    List<Long> starts = new ArrayList<>();
    for (long write : writes.stream().sorted().toList()) {
      if (starts.isEmpty() || write >= starts.get(starts.size() - 1) + windowMicros) {
        starts.add(write);
      }
    }
    return starts;
  }

  private static long overWindows(Rule rule, List<Long> starts, List<Admitted> all) {
    long most = -rule.count();
    int next = 0;
    for (int s = 0; s < starts.size(); s++) {
      long end = s + 1 < starts.size() ? starts.get(s + 1) : Long.MAX_VALUE;
      long sum = 0;
      while (next < all.size() && all.get(next).at < end) {
        sum += all.get(next++).units;
      }
      most = Math.max(most, sum - rule.count());
    }
    return most;
  }
}
