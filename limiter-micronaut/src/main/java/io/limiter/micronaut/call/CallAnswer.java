// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.plan.CallValues;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.CountedAnswers;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a method has returned, as far as its costs, or whether it counts, depend on that. */
final class CallAnswer {

  private final CompletionPlan outcomes;

  // Guarded by this object.
  private Map<RuleStack, Integer> costs = Map.of();
  private @Nullable Object result;
  private @Nullable CallValues arguments;

  private CallAnswer(CompletionPlan outcomes) {
    this.outcomes = outcomes;
  }

  /** That of a call; null if nothing depends on it. */
  static @Nullable CallAnswer of(CompletionPlan outcomes) {
    return outcomes.costs().isEmpty() && outcomes.counted().isEmpty()
        ? null
        : new CallAnswer(outcomes);
  }

  /** The method begins with these arguments. */
  void entered(CallValues with) {
    if (!outcomes.counted().isEmpty()) {
      synchronized (this) {
        arguments = with;
      }
    }
  }

  /**
   * The method has returned.
   *
   * @param stream whether that is a stream, or has one in it, whose items have the cost
   */
  void returned(@Nullable Object value, boolean stream) {
    Map<RuleStack, Integer> actual = stream ? Map.of() : outcomes.actual(value);
    synchronized (this) {
      costs = actual;
      result = outcomes.counted().isEmpty() ? null : value;
    }
  }

  synchronized Map<RuleStack, Integer> costs() {
    return costs;
  }

  /** Which conditions count the call. Runs code of the application. */
  Map<CountedAnswers, Boolean> counted(int status) {
    Object returned;
    CallValues with;
    synchronized (this) {
      returned = result;
      with = arguments;
    }
    Map<CountedAnswers, Boolean> counted = new HashMap<>();
    for (CountedAnswers each : outcomes.counted()) {
      counted.put(each, each.count(status, returned, with));
    }
    return counted;
  }
}
