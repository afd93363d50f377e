// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Takes a token for each unit of a call's cost from a bucket of {@link RateRule#count} tokens, to
 * which tokens are added in each interval of {@link RateRule#time}.
 *
 * <pre>{@code
 * @RateRule(count = 20, time = 1, tokenBucket = @TokenBucket(refill = 5))
 * }</pre>
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({}) // only within a @RateRule
public @interface TokenBucket {

  /** Tokens that are added in each interval: 1 to the count of the rule, which is the default. */
  long refill() default 0;

  /**
   * Whether tokens are added one by one, evenly over the interval, rather than all at its end. True
   * by default.
   */
  boolean greedy() default true;

  /**
   * Tokens that a subject has at its first call: 0 to the rule's count. By default a full bucket.
   */
  long initial() default -1;
}
