// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.plan.NamedBeans.FoundBean;
import io.micronaut.core.annotation.Internal;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Selects the calls that a policy limits. If a condition throws, the call is limited. */
@Internal
public sealed interface Condition {

  /** Whether it is computed from the arguments of the method. */
  boolean needsArguments();

  /** Whether the policy limits this call. Runs code of the application. */
  boolean limits(CallValues call);

  /** A bean of the application. */
  record OfRequest(FoundBean<LimitCondition> bean) implements Condition {

    @Override
    public boolean needsArguments() {
      return false;
    }

    @Override
    public boolean limits(CallValues call) {
      return LoggedEvaluation.limits(
          this,
          () ->
              call.request().isPresent()
                  ? bean.object().get().limits(call.request().get())
                  : bean.object().get().limitsOutsideOfRequest());
    }

    @Override
    public String toString() {
      return bean.name();
    }
  }

  /** An expression over the arguments of the method. */
  record OfArguments(CallExpression expression) implements Condition {

    @Override
    public boolean needsArguments() {
      return true;
    }

    @Override
    public boolean limits(CallValues call) {
      return LoggedEvaluation.limits(this, () -> call.isTrue(expression));
    }

    @Override
    public String toString() {
      return expression.toString();
    }
  }

  /** Evaluates conditions, and logs their failures, at most once in ten seconds. */
  @Internal
  final class LoggedEvaluation {

    private static final Logger LOG = LoggerFactory.getLogger(Condition.class);
    private static final LogThrottle THROTTLE = new LogThrottle();

    private LoggedEvaluation() {}

    private static boolean limits(Condition condition, BooleanSupplier evaluate) {
      try {
        return evaluate.getAsBoolean();
      } catch (RuntimeException failure) {
        long calls = THROTTLE.count();
        if (calls > 0) {
          LOG.warn(
              "The condition {} failed, so the call is limited. Conditions that failed since the last message: {}",
              condition,
              calls,
              failure);
        }
        return true;
      }
    }
  }
}
