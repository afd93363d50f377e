// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.limiter.core.rule.CustomAlgorithm;
import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Counts by an algorithm of the application.
 *
 * <pre>{@code
 * @RateRule(count = 10, time = 60, custom = @Custom(value = Fading.class, parameters = 2.0))
 * }</pre>
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({}) // only within a @RateRule
public @interface Custom {

  /** The algorithm, which is a {@code @Singleton} bean. */
  Class<? extends CustomAlgorithm> value();

  /** Numbers for the algorithm, at most 8. None by default. */
  double[] parameters() default {};
}
