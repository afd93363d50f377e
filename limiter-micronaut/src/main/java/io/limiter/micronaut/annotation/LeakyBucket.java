// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Spaces calls evenly: {@link RateRule#count} of them begin in each interval of {@link
 * RateRule#time}. Calls that arrive early wait for their turn. A method can have at most one rule
 * of this kind.
 *
 * <pre>{@code
 * @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10))
 * }</pre>
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({}) // only within a @RateRule
public @interface LeakyBucket {

  /**
   * Number of calls that may wait for their turn: 1 to 10,000. There is no default, since each
   * waiting call keeps a client's connection open.
   */
  int queue();

  /**
   * The longest that a call may wait for its turn, in {@link RateRule#timeUnit}s: up to 5 minutes.
   * A call that could not begin in time is denied at once, as is one that costs more turns than
   * this time contains. By default the waiting time of the last call in the {@link #queue}.
   */
  long maxWait() default 0;

  /**
   * Whether calls begin in the order of their arrival. If true, the turn of a client that
   * disconnected passes unused; if false, the next call takes it and may overtake calls that wait.
   * True by default.
   */
  boolean fair() default true;
}
