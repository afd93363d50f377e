// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.Charge;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.plan.ActualCost;
import io.limiter.micronaut.plan.Cost;
import io.limiter.micronaut.subject.CallCost;
import io.micronaut.context.BeanContext;
import io.micronaut.context.exceptions.NoSuchBeanException;
import io.micronaut.context.exceptions.NonUniqueBeanException;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.core.expressions.EvaluatedExpression;
import io.micronaut.core.type.ReturnType;
import io.micronaut.core.util.SupplierUtil;
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
      return Cost.Fixed.ONE;
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
        .filter(rule -> !(rule instanceof ConcurrencyLimitRule)) // a call takes one permit
        .filter(rule -> rule.capacity() < units)
        .findFirst()
        .ifPresent(
            rule -> {
              throw limiter.error(
                  COST,
                  text,
                  "the rule '%s' admits %d at once, so no call could ever be admitted: lower the cost, or raise its count"
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

    private final BeanContext beans;

    ActualCostReader(BeanContext beans) {
      this.beans = beans;
    }

    /**
     * @param costly whether the annotation has rules that take a cost
     * @param result what the method returns
     */
    Optional<ActualCost> read(AnnotationMembers limiter, boolean costly, ReturnType<?> result) {
      if (!limiter.has(MEMBER)) {
        return Optional.empty();
      }
      if (!costly) {
        limiter.reject(
            MEMBER,
            "no rule takes a cost: a concurrency limit takes one permit for each call: add other rules, or remove it");
      }
      Class<? extends ResultCost> type =
          limiter
              .annotation()
              .classValue(MEMBER, ResultCost.class)
              .orElseThrow(
                  () -> limiter.error(MEMBER, limiter.raw(MEMBER), "this class cannot be loaded"));
      if (!limiter.hasText("cost")) {
        throw limiter.error(
            MEMBER,
            type.getName(),
            "a call takes its units before its result is known: write cost = \"…\", an estimate");
      }
      if (Publishers.isConvertibleToPublisher(result.getType()) && !result.isSingleResult()) {
        throw limiter.error(
            MEMBER,
            type.getName(),
            "the method streams, so there is no result to compute the cost from: let it return a list, a Mono or a CompletionStage, or remove it");
      }
      try {
        var unused = beans.getBeanDefinition(type);
      } catch (NonUniqueBeanException e) {
        throw limiter.error(
            MEMBER, type.getName(), "there are several beans of this type: name the one");
      } catch (NoSuchBeanException e) {
        throw limiter.error(
            MEMBER, type.getName(), "there is no bean of this type: make it a @Singleton");
      }
      return Optional.of(new ActualCost(type, SupplierUtil.memoized(() -> beans.getBean(type))));
    }
  }
}
