// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.CallAnswer;
import io.limiter.micronaut.annotation.CountCondition;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.plan.NamedBeans.BeanRef;
import io.micronaut.core.annotation.Internal;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Selects the calls that count by their answers. If it throws, the call counts.
 *
 * @param text as written; two of them on one method are equal if their texts are
 * @param test runs code of the application
 */
@Internal
public record CountedAnswers(String text, Test test) {

  private static final @Nullable Object[] NO_ARGUMENTS = {};

  /** As {@link #count} describes it. */
  @FunctionalInterface
  interface Test {
    boolean counts(int status, @Nullable Object result, @Nullable CallValues call);
  }

  /** An expression over the answer and the arguments. */
  static CountedAnswers ofAnswer(CallExpression expression) {
    return new CountedAnswers(
        expression.toString(),
        (status, result, call) ->
            CallAnswer.evaluate(
                status,
                result,
                () ->
                    call == null
                        ? expression.isTrue(null, NO_ARGUMENTS)
                        : call.isTrue(expression)));
  }

  /** A bean of the application. */
  static CountedAnswers ofBean(BeanRef<CountCondition> bean) {
    return new CountedAnswers(
        bean.name(), (status, result, call) -> bean.object().get().counts(status, result));
  }

  /**
   * Whether a call counts.
   *
   * @param call has the arguments; null if its method was not entered
   */
  public boolean count(int status, @Nullable Object result, @Nullable CallValues call) {
    try {
      return test.counts(status, result, call);
    } catch (Throwable failure) { // the call itself has been made
      Failures.THROTTLE.report(
          Failures.LOG, "countIf = %s has failed, so its calls count".formatted(text), failure);
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

  /** Creates the log when it is first needed, which is never while a limit is compiled. */
  private static final class Failures {

    static final Logger LOG = LoggerFactory.getLogger(CountedAnswers.class);
    static final LogThrottle THROTTLE = new LogThrottle();
  }
}
