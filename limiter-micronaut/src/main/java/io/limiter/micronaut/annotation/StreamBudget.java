// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Details of {@link RateLimiter#resultCost} for a method that streams: how many units a running
 * stream takes at once, and how it ends when they are denied.
 *
 * <pre>{@code
 * @RateLimiter(
 *     cost = "200",
 *     resultCost = Tokens.class,
 *     stream = @StreamBudget(end = StreamEnd.CUT),
 *     rules = @RateRule(count = 100_000, time = 60))
 * }</pre>
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({}) // only within a @RateLimiter
public @interface StreamBudget {

  /**
   * The units that the stream takes at once, 1 to 1,000,000,000: one command to the store for each
   * step. By default the {@link RateLimiter#cost} of the call. Of several budgets of one call the
   * smallest step applies to all.
   */
  int step() default 0;

  /**
   * How the stream ends when a step is denied. {@link StreamEnd#FINISH} by default. Of several
   * budgets of one call, one {@link StreamEnd#CUT} is enough.
   */
  StreamEnd end() default StreamEnd.FINISH;
}
