// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The plans that a context has made of the beans of one test, in words that a test can compare. */
final class Plans implements AutoCloseable {

  private final ApplicationContext context;

  Plans(ApplicationContext context) {
    this.context = context;
  }

  /** The plans of the beans whose {@code spec.name} this is. */
  static Plans of(String spec) {
    return new Plans(Starts.inMemory(spec));
  }

  /** The plans of such beans, in a context with {@code RecordedDecisions}. */
  static Plans recorded(String spec) {
    return new Plans(Starts.recorded(spec));
  }

  ApplicationContext context() {
    return context;
  }

  /** The plan of a method; empty if it is not limited. Fails if there is no such method. */
  Optional<LimitPlan> find(Class<?> bean, String method) {
    return context.getBeanDefinition(bean).getExecutableMethods().stream()
        .filter(candidate -> candidate.getMethodName().equals(method))
        .findFirst()
        .map(found -> context.getBean(PlanRegistry.class).of(found))
        .orElseThrow(() -> new AssertionError(bean + " has no executable method " + method));
  }

  LimitPlan of(Class<?> bean, String method) {
    return find(bean, method)
        .orElseThrow(() -> new AssertionError(bean + "." + method + " is not limited"));
  }

  /** What a method counts; nothing if it is not limited. */
  List<String> logs(Class<?> bean, String method) {
    return find(bean, method).map(Plans::logs).orElse(List.of());
  }

  /** What a method of a bean in a test counts, on one line; empty if it is not limited. */
  String logs(Class<?> test, String bean, String method) throws ClassNotFoundException {
    return String.join("; ", logs(Class.forName(test.getName() + '$' + bean), method));
  }

  /** A line for each log: its key, if it has one, its subject and its rules. */
  static List<String> logs(LimitPlan plan) {
    return plan.charges().stream()
        .map(
            planned ->
                (planned.limit().equals(plan.method()) ? "" : "key = " + planned.limit() + ", ")
                    + planned.source().written()
                    + ": "
                    + names(planned.rules()))
        .toList();
  }

  /** The texts of denials, by the name of the rule that denies. */
  static Map<String, DenialText> texts(LimitPlan plan) {
    Map<String, DenialText> texts = new HashMap<>();
    plan.policies().forEach(policy -> texts.putAll(policy.texts()));
    return texts;
  }

  static String names(RuleStack stack) {
    return stack.rules().stream().map(Rule::name).collect(Collectors.joining(", "));
  }

  @Override
  public void close() {
    context.close();
  }
}
