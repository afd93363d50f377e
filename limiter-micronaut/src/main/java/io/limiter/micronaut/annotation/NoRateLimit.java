// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Exempts a method from the limits of its class and of the methods it overrides. On a class, it
 * exempts the class's methods from limits on its interfaces and superclasses themselves, but not
 * from limits on their methods.
 *
 * <pre>{@code
 * @Controller
 * @RateRule(count = 100, time = 60)
 * class Shop {
 *   @Get("/status")
 *   @NoRateLimit
 *   String status() { ... }
 * }
 * }</pre>
 *
 * <p>Limits in the same place contradict it: the application does not start.
 */
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
public @interface NoRateLimit {}
