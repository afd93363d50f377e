// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.Charge;
import io.limiter.core.rule.ConcurrencyLimit;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.micronaut.plan.Cost;
import io.limiter.micronaut.subject.CallCost;
import io.micronaut.core.expressions.EvaluatedExpression;
import jakarta.inject.Singleton;
import java.util.List;

/** Reads the cost of a call for the rules of an annotation. */
@Singleton
final class CostReader {

  private static final String COST = "cost";

  /**
   * @param rules all rules that take the cost
   */
  Cost read(AnnotationMembers limiter, List<Rule> rules) {
    if (!limiter.hasText(COST)) {
      return Cost.Fixed.ONE;
    }
    if (rules.isEmpty()) {
      limiter.reject(COST, "there is no rule to take it from: add rules, or remove it");
    }
    if (rules.stream().allMatch(rule -> rule instanceof ConcurrencyLimit)) {
      limiter.reject(
          COST,
          "a concurrency limit takes one permit for each call, whatever its cost: add other "
              + "rules, or remove it");
    }
    if (limiter.raw(COST) instanceof EvaluatedExpression) {
      return new Cost.OfArguments(
          new CallCost(SubjectSourceReader.expression(limiter, COST, "it is not an expression")));
    }
    String text = limiter.text(COST).orElse("1");
    int units = units(limiter, text);
    rules.stream()
        .filter(
            rule ->
                !(rule
                    instanceof
                    CustomRule)) // only the algorithm itself knows the meaning of its count
        .filter(rule -> !(rule instanceof ConcurrencyLimit)) // a call takes one permit
        .filter(rule -> rule.capacity() < units)
        .findFirst()
        .ifPresent(
            rule -> {
              throw limiter.error(
                  COST,
                  text,
                  "the rule '%s' admits %d at once, so no call could ever be admitted: lower "
                      + "the cost, or raise its count".formatted(rule.name(), rule.capacity()));
            });
    return new Cost.Fixed(units);
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
}
