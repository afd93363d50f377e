// SPDX-License-Identifier: Apache-2.0
package io.limiter.test;

import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A Micronaut test of limits. Before each test all counts are forgotten, and the clock is set to
 * {@link TestClock#START}. {@link Limits} and {@link TestClock} are beans that the test injects:
 *
 * <pre>{@code
 * @LimitTest
 * class ArticlesTest {
 *
 *   @Test
 *   void tenAMinute(@Client("/") HttpClient client, Limits limits, TestClock clock) {
 *     limits.assertAdmits(10, () -> client.toBlocking().exchange("/articles")).thenDenies();
 *     clock.advance(1, ChronoUnit.MINUTES);
 *     limits.assertAdmits(1, () -> client.toBlocking().exchange("/articles"));
 *   }
 * }
 * }</pre>
 *
 * <p>It includes {@link MicronautTest}, which may be added for its members. The limiter is enabled
 * in these tests, even if {@code limiter.enabled} is false in the configuration of the others. On a
 * nested class it is an error: nested classes share the application of the outermost one.
 *
 * <p>Test classes may run in parallel. Tests of one class share an application, so they must not: a
 * second test that begins before the first has ended fails.
 */
@Documented
@Inherited
@MicronautTest
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.ANNOTATION_TYPE, ElementType.TYPE})
public @interface LimitTest {

  /** Where the limiter counts. Default value: {@link Store#MEMORY}. */
  Store store() default Store.MEMORY;

  /** Where the limiter counts in a test. */
  enum Store {
    /**
     * In memory, on a {@link TestClock} that stands still until the test moves it. The limiter
     * opens no connection to Redis. Counts are those of the annotations and the configuration,
     * whatever {@code limiter.memory.instances} is.
     */
    MEMORY,
    /**
     * In the Redis of {@code redis.uri} or {@code redis.uris}, without which the application does
     * not start. The keys of each test class have a prefix of their own, so that classes, and other
     * users of the same Redis, do not count in each other's keys; they are deleted before each test
     * and after the last one. The clock is that of Redis, so {@link TestClock} cannot be used.
     */
    REDIS
  }
}
