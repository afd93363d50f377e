// SPDX-License-Identifier: Apache-2.0
package io.limiter.test;

import io.micronaut.core.annotation.Internal;
import io.micronaut.test.support.TestPropertyProvider;
import io.micronaut.test.support.TestPropertyProviderFactory;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Adds the properties on which the beans of this package depend to the application of a {@link
 * LimitTest}.
 */
@Internal
public final class LimitTestProperties implements TestPropertyProviderFactory {

  /** The {@link LimitTest.Store} of the test, in lower case. Not set in other tests. */
  static final String STORE = "limiter-test.store";

  @Override
  public TestPropertyProvider create(Map<String, Object> properties, Class<?> testClass) {
    Map<String, String> ours =
        AnnotationSupport.findAnnotation(testClass, LimitTest.class)
            .map(test -> of(test.store(), testClass))
            .orElse(Map.of());
    return () -> ours;
  }

  private static Map<String, String> of(LimitTest.Store store, Class<?> testClass) {
    if (AnnotationSupport.isAnnotated(testClass, Nested.class)) {
      throw new IllegalStateException(
          "@LimitTest on the nested class %s: nested classes share the application of the outermost class, so annotate only that"
              .formatted(testClass.getName()));
    }
    return Map.of(
        STORE,
        store.name().toLowerCase(Locale.ROOT),
        "limiter.enabled",
        "true",
        "limiter.redis.enabled",
        Boolean.toString(store == LimitTest.Store.REDIS));
  }
}
