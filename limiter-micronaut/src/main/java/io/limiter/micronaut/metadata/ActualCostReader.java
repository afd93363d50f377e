// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.plan.ActualCost;
import io.micronaut.context.BeanContext;
import io.micronaut.context.exceptions.NoSuchBeanException;
import io.micronaut.context.exceptions.NonUniqueBeanException;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.core.type.ReturnType;
import io.micronaut.core.util.SupplierUtil;
import jakarta.inject.Singleton;
import java.util.Optional;

/** Reads which bean computes the actual cost of a call. */
@Singleton
final class ActualCostReader {

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
          "no rule takes a cost: a concurrency limit takes one permit for each call: add other "
              + "rules, or remove it");
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
          "the method streams, so there is no result to compute the cost from: let it return a "
              + "list, a Mono or a CompletionStage, or remove it");
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
