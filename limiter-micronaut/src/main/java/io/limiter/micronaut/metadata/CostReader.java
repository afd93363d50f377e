// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.Charge;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.plan.CompletionPlan.ActualCost;
import io.limiter.micronaut.plan.Cost;
import io.micronaut.core.expressions.EvaluatedExpression;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;

/** Reads the cost of a call for the rules of an annotation. */
@Singleton
final class CostReader {

  private static final String COST = "cost";

  /**
   * @param rules all rules that take the cost
   */
  Cost read(AnnotationMembers limiter, List<Rule> rules) {
    if (!limiter.hasText(COST)) {
      return Cost.ONE;
    }
    if (rules.isEmpty()) {
      limiter.reject(COST, "there is no rule to take it from: add rules, or remove it");
    }
    if (rules.stream().allMatch(rule -> rule instanceof ConcurrencyLimitRule)) {
      limiter.reject(
          COST,
          "a concurrency limit takes one permit for each call, whatever its cost: add other rules, or remove it");
    }
    if (limiter.raw(COST) instanceof EvaluatedExpression) {
      return new Cost(SubjectSourceReader.expression(limiter, COST, "it is not an expression"));
    }
    String text = limiter.text(COST).orElse("1");
    int units = units(limiter, text);
    rules.stream()
        .filter(
            rule ->
                !(rule
                    instanceof
                    CustomRule)) // only the algorithm itself knows the meaning of its count
        .filter(rule -> !(rule instanceof ConcurrencyLimitRule)) // a call takes one permit
        .filter(rule -> rule.capacity() < units)
        .findFirst()
        .ifPresent(
            rule -> {
              throw limiter.correctableError(
                  COST,
                  text,
                  "the rule '%s' admits %d at once, so no call could ever be admitted: lower the cost, or raise its count"
                      .formatted(rule.name(), rule.capacity()));
            });
    return new Cost(units);
  }

  private static int units(AnnotationMembers limiter, String text) {
    try {
      int units = Integer.parseInt(text.strip());
      if (units >= 1 && units <= Charge.MAX_COST) {
        return units;
      }
    } catch (NumberFormatException noNumber) {
      // Rejected below.
    }
    throw limiter.error(
        COST,
        text,
        "give it 1 to %d, or an expression over the arguments, such as \"#{count}\""
            .formatted(Charge.MAX_COST));
  }

  /** Reads which bean computes the actual cost of a call. */
  @Singleton
  static final class ActualCostReader {

    private static final String MEMBER = "resultCost";

    private final NamedBeans beans;

    ActualCostReader(NamedBeans beans) {
      this.beans = beans;
    }

    /**
     * @param costly whether the annotation has rules that take a cost
     * @param streams whether the method returns a stream of values
     */
    Optional<ActualCost> read(AnnotationMembers limiter, boolean costly, boolean streams) {
      if (!limiter.has(MEMBER)) {
        return Optional.empty();
      }
      if (!costly) {
        limiter.reject(
            MEMBER,
            "no rule takes a cost: a concurrency limit takes one permit for each call: add other rules, or remove it");
      }
      NamedBeans.NamedBean<ResultCost> bean = beans.ofType(limiter, MEMBER, ResultCost.class);
      if (!limiter.hasText("cost")) {
        throw limiter.error(
            MEMBER,
            bean.name(),
            "a call takes its units before its result is known: write cost = \"…\", an estimate");
      }
      if (streams) {
        throw limiter.error(
            MEMBER,
            bean.name(),
            "the method streams, so there is no result to compute the cost from: let it return a list, a Mono or a CompletionStage, or remove it");
      }
      return Optional.of(new ActualCost(bean.type(), bean.object()));
    }
  }
}
