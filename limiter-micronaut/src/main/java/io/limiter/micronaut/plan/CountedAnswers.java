// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.CallAnswer;
import io.limiter.micronaut.annotation.CountCondition;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.plan.NamedBeans.FoundBean;
import io.micronaut.core.annotation.Internal;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Selects the calls that count by their answers. If it throws, the call counts.
 *
 * @param text as written; two of them on one method are equal if their texts are
 * @param expression over the answer and the arguments; null for a bean
 * @param bean that of the application; null for an expression
 */
@Internal
public record CountedAnswers(
    String text, @Nullable CallExpression expression, @Nullable Supplier<CountCondition> bean) {

  private static final Logger LOG = LoggerFactory.getLogger(CountedAnswers.class);
  private static final LogThrottle FAILURES = new LogThrottle();

  private static final @Nullable Object[] NO_ARGUMENTS = {};

  static CountedAnswers ofAnswer(CallExpression expression) {
    return new CountedAnswers(expression.toString(), expression, null);
  }

  static CountedAnswers ofBean(FoundBean<CountCondition> bean) {
    return new CountedAnswers(bean.name(), null, bean.object());
  }

  /**
   * Whether a call counts. Runs code of the application.
   *
   * @param call has the arguments; null if its method was not entered
   */
  public boolean count(int status, @Nullable Object result, @Nullable CallValues call) {
    try {
      if (bean != null) {
        return bean.get().counts(status, result);
      }
      CallExpression written = expression;
      return written == null
          || CallAnswer.evaluate(
              status,
              result,
              () -> call == null ? written.isTrue(null, NO_ARGUMENTS) : call.isTrue(written));
    } catch (Throwable failure) { // the call itself has been made
      FAILURES.report(LOG, "countIf = %s has failed, so its calls count".formatted(text), failure);
      return true;
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CountedAnswers that && text.equals(that.text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }
}
