// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import java.math.BigInteger;

/**
 * A token bucket whose tokens come back one by one. Missing tokens are counted in parts; each
 * microsecond adds as many parts as the refill has tokens, so a token has as many parts as the
 * interval has microseconds.
 */
final class GreedyModel extends CellModel {

  private TokenBucketRule bucket;
  private boolean begun;
  private BigInteger missing = BigInteger.ZERO;

  /** Parts missing beyond the capacity, because a rule with a larger count took them. */
  private BigInteger more = BigInteger.ZERO;

  private long now;

  @Override
  void proceed(Rule rule, long time) {
    bucket = (TokenBucketRule) rule;
    if (begun) {
      BigInteger all = missing.add(more);
      missing = all;
      more = missingAfter(time - now);
      missing = all.min(parts(bucket.count()));
      missing = missingAfter(time - now);
      more = more.subtract(missing);
    } else {
      more = BigInteger.ZERO;
      missing = parts(bucket.count() - bucket.initial());
    }
    now = time;
  }

  @Override
  void lease(long micros) {
    missing = missing.max(BigInteger.valueOf(bucket.refill()).multiply(BigInteger.valueOf(micros)));
  }

  private BigInteger parts(long tokens) {
    return BigInteger.valueOf(tokens).multiply(BigInteger.valueOf(interval()));
  }

  private long interval() {
    return Plain.micros(bucket.interval());
  }

  private BigInteger missingAfter(long time) {
    BigInteger back = BigInteger.valueOf(bucket.refill()).multiply(BigInteger.valueOf(time));
    return missing.subtract(back).max(BigInteger.ZERO);
  }

  private long leftAfter(long time) {
    BigInteger there = parts(bucket.count()).subtract(missingAfter(time));
    return there.divide(BigInteger.valueOf(interval())).longValueExact();
  }

  @Override
  long remaining() {
    return leftAfter(0);
  }

  @Override
  long microsUntilLeft(long wanted) {
    return Plain.first(1, Plain.window(bucket), wait -> leftAfter(wait) >= wanted);
  }

  /** For a full bucket, the time until a token could come back. */
  @Override
  long microsUntilMore() {
    return missing.signum() > 0
        ? microsUntilLeft(remaining() + 1)
        : Plain.first(
            1,
            Plain.window(bucket),
            wait ->
                BigInteger.valueOf(wait)
                        .multiply(BigInteger.valueOf(bucket.refill()))
                        .compareTo(parts(1))
                    >= 0);
  }

  @Override
  long microsUntilReplenished() {
    return Plain.first(0, Plain.window(bucket), wait -> missingAfter(wait).signum() == 0);
  }

  @Override
  void take(long units) {
    begun = true;
    missing = missing.add(parts(units));
  }

  /** Tokens that came back between that call and the last one are there already. */
  @Override
  boolean giveBack(Rule rule, long stamp, long units, long taken) {
    if (bucket == null) {
      return false;
    }
    BigInteger back =
        BigInteger.valueOf(((TokenBucketRule) rule).refill())
            .multiply(BigInteger.valueOf(Math.max(0, now - stamp)));
    BigInteger credit = parts(taken).subtract(back).min(parts(units));
    BigInteger all = missing.add(more);
    if (!begun || credit.signum() <= 0 || all.signum() == 0) {
      return false;
    }
    missing = all.subtract(credit).max(BigInteger.ZERO);
    more = BigInteger.ZERO;
    return true;
  }

  @Override
  boolean begin() {
    boolean begins = !begun && missing.signum() > 0;
    begun |= begins;
    return begins;
  }
}
