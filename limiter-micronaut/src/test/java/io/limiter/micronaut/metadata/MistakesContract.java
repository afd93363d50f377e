// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.inject.BeanDefinitionReference;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A subclass has {@link Mistaken} beans, whose methods have a {@link Mistake} each. They are
 * planned one by one, as at the start, in a context whose {@code spec.name} is that of the
 * subclass.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class MistakesContract {

  /** The {@code spec.name} of a start with all mistaken beans. */
  static final String MISTAKEN = "mistaken";

  @AutoClose private final ApplicationContext context = Starts.inMemory(getClass().getSimpleName());

  /** A bean that would stop the start. */
  @Retention(RetentionPolicy.RUNTIME)
  @Singleton
  @Requires(property = "spec.name", value = MISTAKEN)
  @interface Mistaken {}

  /**
   * Parts of the error, in their order: the member and its value, and the remedy. Between {@code #}
   * and a brace a part ends, since Micronaut would compile an expression.
   */
  @Retention(RetentionPolicy.RUNTIME)
  @interface Mistake {
    String[] value();
  }

  Stream<Named<Method>> mistakes() {
    return Arrays.stream(getClass().getDeclaredClasses())
        .filter(bean -> bean.isAnnotationPresent(Mistaken.class))
        .flatMap(bean -> Arrays.stream(bean.getDeclaredMethods()))
        .filter(method -> method.isAnnotationPresent(Mistake.class))
        .map(method -> Named.of(method.getName(), method));
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void isAMistake(Method method) {
    for (Method other : method.getDeclaringClass().getDeclaredMethods()) {
      if (!other.isAnnotationPresent(Mistake.class)) {
        plan(context, other);
      }
    }
    assertThatThrownBy(() -> plan(context, method))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageStartingWith(method.getDeclaringClass().getName() + "." + method.getName() + "(")
        .message()
        .containsSubsequence(method.getAnnotation(Mistake.class).value());
  }

  /** Plans a method of a bean that the context has not, as it would plan it at the start. */
  static Optional<LimitPlan> plan(ApplicationContext context, Method method) {
    return definition(method.getDeclaringClass()).load(context).getExecutableMethods().stream()
        .filter(planned -> planned.getMethodName().equals(method.getName()))
        .findFirst()
        .flatMap(context.getBean(PlanRegistry.class)::of);
  }

  private static BeanDefinitionReference<?> definition(Class<?> nested) {
    String name = nested.getName().substring(nested.getPackageName().length() + 1);
    try {
      return (BeanDefinitionReference<?>)
          Class.forName("%s.$%s$Definition".formatted(nested.getPackageName(), name))
              .getConstructor()
              .newInstance();
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }
}
