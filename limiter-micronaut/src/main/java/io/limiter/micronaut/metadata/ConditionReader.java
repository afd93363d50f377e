// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.plan.Condition;
import io.micronaut.core.expressions.EvaluatedExpression;
import jakarta.inject.Singleton;
import java.util.Optional;

/** Reads which calls an annotation limits. */
@Singleton
final class ConditionReader {

  private static final String MEMBER = "condition";

  private final NamedBeans beans;

  ConditionReader(NamedBeans beans) {
    this.beans = beans;
  }

  /** The condition of an annotation; empty if it limits all calls. */
  Optional<Condition> read(AnnotationMembers limiter) {
    if (!limiter.hasText(MEMBER)) {
      return Optional.empty();
    }
    if (limiter.raw(MEMBER) instanceof EvaluatedExpression) {
      return Optional.of(
          new Condition.OfArguments(SubjectSourceReader.expression(limiter, MEMBER, "")));
    }
    String name = limiter.text(MEMBER).orElse("");
    NamedBeans.NamedBean<LimitCondition> bean =
        beans
            .named(LimitCondition.class, name)
            .orElseThrow(
                () ->
                    limiter.error(
                        MEMBER,
                        name,
                        "no bean of type %s has this name: give one @Named(\"%s\"), or write an expression over the arguments in the annotation, such as \"#{!order.draft}\""
                            .formatted(LimitCondition.class.getName(), name)));
    return Optional.of(new Condition.OfRequest(name, bean.object()));
  }
}
