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

/** Reads what a call takes from the rules of an annotation. */
@Singleton
final class CostReader {

  private static final String COST = "cost";

  /**
   * @param rules all rules that it is taken from
   */
  Cost read(AnnotationMembers limiter, List<Rule> rules) {
    if (!limiter.says(COST)) {
      return Cost.Fixed.ONE;
    }
    if (rules.isEmpty()) {
      limiter.refuse(COST, "it has no rules to take it from: give it rules, or remove it");
    }
    if (rules.stream().allMatch(rule -> rule instanceof ConcurrencyLimit)) {
      limiter.refuse(
          COST,
          "a call in flight takes one place, whatever it costs: give it other rules to take it from, or remove it");
    }
    if (limiter.raw(COST) instanceof EvaluatedExpression) {
      return new Cost.OfArguments(
          new CallCost(SubjectSourceReader.expression(limiter, COST, "it is no expression")));
    }
    String text = limiter.text(COST).orElse("1");
    int units = units(limiter, text);
    rules.stream()
        .filter(rule -> !(rule instanceof CustomRule)) // what its count means, it alone knows
        .filter(rule -> !(rule instanceof ConcurrencyLimit)) // a call takes one place
        .filter(rule -> rule.capacity() < units)
        .findFirst()
        .ifPresent(
            rule -> {
              throw limiter.error(
                  COST,
                  text,
                  "the rule '%s' admits %d at once, so that no call could ever pass: lower the cost, or raise its count"
                      .formatted(rule.name(), rule.capacity()));
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
      // Refused below.
    }
    throw limiter.error(
        COST,
        text,
        "give it 1 to %d, or an expression over the arguments, such as \"#{count}\""
            .formatted(Charge.MAX_COST));
  }
}
