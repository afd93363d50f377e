// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.micronaut.aop.Around;
import io.micronaut.context.annotation.Executable;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Limits how many calls of a method this instance has in flight: jobs, consumers of messages, or
 * calls of another service. The limit adapts to their latencies, as that of requests does. All
 * methods of one name share it.
 *
 * <pre>{@code
 * @LocalConcurrency("inventory")
 * Stock stock(String item) { ... }
 * }</pre>
 *
 * <p>A call that finds no place waits for {@code limiter.overload.local.<name>.max-wait}, which is
 * 20 ms by default, and fails with an {@link OverloadedException} then. A method that returns its
 * result itself waits on its thread, and on an event loop not at all; one that returns a {@link
 * java.util.concurrent.CompletionStage} or a publisher waits without a thread, and is in flight
 * until that ends.
 *
 * <p>A call is as critical as {@link Criticality} on its method states; normal without it.
 */
@Around
@Executable(processOnStartup = true)
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
public @interface LocalConcurrency {

  /** The name of the limit, and of its settings under {@code limiter.overload.local}. */
  String value();
}
