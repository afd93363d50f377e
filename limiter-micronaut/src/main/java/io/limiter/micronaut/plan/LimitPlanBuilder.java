// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Policy;
import io.limiter.core.Rule;
import io.limiter.core.RuleStack;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.subject.DigestibleTypes;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.expressions.EvaluatedExpression;
import io.micronaut.core.type.Argument;
import io.micronaut.http.annotation.Error;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads the annotations of one method, and refuses what makes no sense. */
@Singleton
final class LimitPlanBuilder {

  private static final String RATE_LIMITER = "@RateLimiter";

  private final RateRuleReader rules;

  LimitPlanBuilder(RateRuleReader rules) {
    this.rules = rules;
  }

  LimitPlan build(ExecutableMethod<?, ?> method) {
    String name = describe(method);
    refuseErrorRoute(name, method);
    AnnotationValue<RateLimiter> limiter =
        Optional.ofNullable(method.getAnnotation(RateLimiter.class))
            .orElseGet(() -> AnnotationValue.builder(RateLimiter.class).build());
    Optional<DuplicateBy> duplicateBy = duplicateBy(name, limiter, method);
    return new LimitPlan(
        name,
        policy(name, limiter, method, duplicateBy.isPresent()),
        limiter.enumValue("limitType", LimitType.class).orElse(LimitType.IP),
        hasExpression(name, limiter),
        duplicateBy,
        text(name, limiter, "message").map(DenialText::message).orElse(DenialText.NONE),
        limiter.booleanValue("releaseOnFailure").orElse(true));
  }

  private Policy policy(
      String method,
      AnnotationValue<RateLimiter> limiter,
      ExecutableMethod<?, ?> annotated,
      boolean preventDuplicate) {
    List<Rule> all = new ArrayList<>();
    for (AnnotationValue<RateRule> rule : limiter.getAnnotations("rules", RateRule.class)) {
      all.add(rules.read(method, RATE_LIMITER + ".rules", rule));
    }
    for (AnnotationValue<RateRule> rule : annotated.getAnnotationValuesByType(RateRule.class)) {
      all.add(rules.read(method, "@RateRule", rule));
    }
    if (all.isEmpty() && !preventDuplicate) {
      throw PlanErrors.of(
          method,
          RATE_LIMITER + ".rules",
          "{}",
          "nothing is limited: give it a rule, put @RateRule beside it, or set preventDuplicate");
    }
    try {
      return new Policy(
          text(method, limiter, "name")
              .map(name -> Rule.requireName("policy", name))
              .orElse(method),
          text(method, limiter, "key").orElse(method),
          all.isEmpty() ? Optional.empty() : Optional.of(stack(method, all)),
          preventDuplicate
              ? Optional.of(RuleStack.of(List.of(duplicateRule(method, limiter))))
              : Optional.empty());
    } catch (IllegalArgumentException e) {
      throw PlanErrors.of(
          method,
          RATE_LIMITER,
          String.valueOf(limiter.getValues()),
          String.valueOf(e.getMessage()));
    }
  }

  private static RuleStack stack(String method, List<Rule> rules) {
    try {
      return RuleStack.of(rules);
    } catch (IllegalArgumentException e) {
      throw PlanErrors.of(
          method,
          "@RateRule",
          rules.stream().map(Rule::name).toList().toString(),
          String.valueOf(e.getMessage()));
    }
  }

  private Rule duplicateRule(String method, AnnotationValue<RateLimiter> limiter) {
    String member = RATE_LIMITER + ".preventDuplicateRule";
    return limiter
        .getAnnotation("preventDuplicateRule", RateRule.class)
        .map(rule -> rules.readDuplicate(method, member, rule))
        .orElseGet(rules::defaultDuplicateRule);
  }

  private static Optional<DuplicateBy> duplicateBy(
      String method, AnnotationValue<RateLimiter> limiter, ExecutableMethod<?, ?> annotated) {
    if (!limiter.booleanValue("preventDuplicate").orElse(false)) {
      for (String member : List.of("preventDuplicateRule", "duplicateBy", "releaseOnFailure")) {
        if (limiter.contains(member)) {
          throw PlanErrors.of(
              method,
              RATE_LIMITER + "." + member,
              written(limiter, member),
              "it has no sense without preventDuplicate = true: set that, or remove it");
        }
      }
      return Optional.empty();
    }
    DuplicateBy by = limiter.enumValue("duplicateBy", DuplicateBy.class).orElse(DuplicateBy.CALLER);
    if (by == DuplicateBy.ARGUMENTS) {
      requireDigestible(method, annotated.getArguments());
    }
    return Optional.of(by);
  }

  private static void requireDigestible(String method, Argument<?>[] arguments) {
    String member = RATE_LIMITER + ".duplicateBy";
    if (arguments.length == 0) {
      throw PlanErrors.of(
          method, member, "ARGUMENTS", "the method has no arguments: use DuplicateBy.CALLER");
    }
    for (Argument<?> argument : arguments) {
      DigestibleTypes.indigestiblePart(argument)
          .ifPresent(
              part -> {
                throw PlanErrors.of(
                    method,
                    member,
                    "ARGUMENTS",
                    "the parameter '%s' cannot be digested because of %s: make it plain data or an @Introspected type, take it out of the method, or use DuplicateBy.CALLER"
                        .formatted(argument.getName(), part));
              });
    }
  }

  private static boolean hasExpression(String method, AnnotationValue<RateLimiter> limiter) {
    Object subject = value(limiter, "subject");
    if (subject == null || "".equals(subject)) {
      return false;
    }
    if (!(subject instanceof EvaluatedExpression)) {
      throw PlanErrors.of(
          method,
          RATE_LIMITER + ".subject",
          String.valueOf(subject),
          "it is the same for every call: write an expression over the arguments, such as \"#{phone}\", or use limitType = GLOBAL");
    }
    return true;
  }

  private static String written(AnnotationValue<RateLimiter> limiter, String member) {
    return String.valueOf(value(limiter, member));
  }

  /** A member as it stands in the metadata: reading it otherwise would evaluate an expression. */
  private static @Nullable Object value(AnnotationValue<RateLimiter> limiter, String member) {
    for (Map.Entry<CharSequence, Object> entry : limiter.getValues().entrySet()) {
      if (member.contentEquals(entry.getKey())) {
        return entry.getValue();
      }
    }
    return null;
  }

  /** An error route answers what was decided already, on a thread that must not wait. */
  private static void refuseErrorRoute(String name, ExecutableMethod<?, ?> method) {
    if (method.hasAnnotation(Error.class)) {
      throw PlanErrors.of(
          name, "@Error", "a limited method", "errors are answered, not limited: remove the limit");
    }
  }

  private static Optional<String> text(
      String method, AnnotationValue<RateLimiter> limiter, String member) {
    if (value(limiter, member) instanceof EvaluatedExpression) {
      throw PlanErrors.of(
          method,
          RATE_LIMITER + "." + member,
          "#{…}",
          "it is read once, when the service starts, and only subject may be an expression: write a text");
    }
    return limiter.stringValue(member).filter(text -> !text.isEmpty());
  }

  private static String describe(ExecutableMethod<?, ?> method) {
    return Arrays.stream(method.getArgumentTypes())
        .map(Class::getTypeName)
        .collect(
            Collectors.joining(
                ",",
                method.getDeclaringType().getName() + "." + method.getMethodName() + "(",
                ")"));
  }
}
