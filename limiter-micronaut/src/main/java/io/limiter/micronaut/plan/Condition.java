// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.plan.NamedBeans.BeanRef;
import io.micronaut.core.annotation.Internal;
import java.util.Optional;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Selects the calls that a policy limits. If it throws, the call is limited.
 *
 * @param text as written; two of them on one method are equal if their texts are
 * @param expression over the arguments of the method; empty if it is a bean
 * @param test runs code of the application
 */
@Internal
public record Condition(
    String text, Optional<CallExpression> expression, Predicate<CallValues> test) {

  /** An expression over the arguments of the method. */
  static Condition ofArguments(CallExpression expression) {
    return new Condition(
        expression.toString(), Optional.of(expression), call -> call.isTrue(expression));
  }

  /** A bean of the application. */
  static Condition ofBean(BeanRef<LimitCondition> bean) {
    return new Condition(
        bean.name(),
        Optional.empty(),
        call ->
            call.request().isPresent()
                ? bean.object().get().limits(call.request().get())
                : bean.object().get().limitsOutsideOfRequest());
  }

  /** Whether it needs arguments that are bound after the gate. */
  public boolean needsArguments() {
    return expression.filter(CallExpression::needsArguments).isPresent();
  }

  /** Whether the policy limits this call. */
  public boolean limits(CallValues call) {
    try {
      return test.test(call);
    } catch (Throwable failure) {
      Failures.THROTTLE.report(
          Failures.LOG,
          "condition = %s has failed, so its calls are limited".formatted(text),
          failure);
      return true;
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Condition that && text.equals(that.text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  @Override
  public String toString() {
    return text;
  }

  /** Creates the log when it is first needed, which is never while a limit is compiled. */
  private static final class Failures {

    static final Logger LOG = LoggerFactory.getLogger(Condition.class);
    static final LogThrottle THROTTLE = new LogThrottle();
  }
}
