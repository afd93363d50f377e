// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import io.limiter.core.Fallback;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PolicyChanges;
import io.limiter.micronaut.definition.CorrectableException;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.metadata.AnnotationReader;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.MethodPlanner;
import io.limiter.micronaut.plan.NamedBeans;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PolicyPlan;
import io.limiter.micronaut.plan.RuleReader;
import io.limiter.micronaut.plan.SubjectReader;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.AnnotationClassValue;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.AnnotationMetadataDelegate;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.expressions.EvaluatedExpression;
import io.micronaut.core.expressions.EvaluatedExpressionReference;
import io.micronaut.core.expressions.ExpressionEvaluationContext;
import io.micronaut.inject.annotation.EvaluatedAnnotationMetadata;
import io.micronaut.inject.annotation.MutableAnnotationMetadata;
import java.lang.annotation.Annotation;
import java.lang.reflect.Array;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;

/**
 * Reads the limits of a method while it is compiled, by the readers of the start and with the same
 * messages. The configuration is not known yet, so this check has the widest bounds, assumes that
 * every bean exists that an annotation names, and accepts any text with a placeholder.
 */
final class CompileTimeCheck {

  private final MethodPlanner.PlanningBeans parts = parts();

  /**
   * What was found.
   *
   * @param error the error that would stop the start, whatever the configuration; empty if none
   * @param warnings what is probably not intended
   * @param plan how the method is limited as annotated; empty if it is not, or if that is not clear
   */
  record Findings(Optional<String> error, List<String> warnings, Optional<LimitPlan> plan) {}

  private static MethodPlanner.PlanningBeans parts() {
    NamedBeans beans = new StandIns();
    LimiterConfiguration configuration =
        new LimiterConfiguration(
            SlidingWindowLogRule.MAX_COUNT, Anonymous.ADDRESS, Fallback.LOCAL, ZoneOffset.UTC);
    return new MethodPlanner.PlanningBeans(
        new RuleReader(beans, configuration),
        new SubjectReader(beans, configuration),
        beans,
        new GateConfiguration(true),
        message -> DenialMessages.requireUsable(message, key -> true),
        new LongAdder());
  }

  /** Reads the limits of a method. */
  Findings check(LimitedMethod method) {
    try {
      List<List<PolicyDefinition>> places =
          AnnotationReader.read(method, CompileTimeCheck::readable);
      Optional<LimitPlan> plan = plan(method, places);
      List<String> warnings = new ArrayList<>();
      for (List<PolicyDefinition> place : places) {
        plan(method, List.of(place)).ifPresent(part -> addUseless(part, warnings));
      }
      plan.stream()
          .flatMap(each -> each.charges().stream())
          .flatMap(charge -> charge.doubts().stream())
          .map((method.description() + ": ")::concat)
          .forEach(warnings::add);
      plan.filter(LimitPlan::isCountedByChoice)
          .map(CompileTimeCheck::countedByChoice)
          .ifPresent(warnings::add);
      return new Findings(Optional.empty(), warnings, plan);
    } catch (CorrectableException mistake) {
      return new Findings(
          Optional.empty(), List.of(String.valueOf(mistake.getMessage())), Optional.empty());
    } catch (ConfigurationException mistake) {
      return new Findings(
          Optional.of(String.valueOf(mistake.getMessage())), List.of(), Optional.empty());
    }
  }

  /**
   * The error about a limit on a static method.
   *
   * @param description its class, name and parameter types
   * @param annotation the simple name of the annotation
   */
  static String ofStatic(String description, String annotation) {
    return "%s: @%s: %s".formatted(description, annotation, AnnotationReader.ON_STATIC);
  }

  private Optional<LimitPlan> plan(LimitedMethod method, List<List<PolicyDefinition>> places) {
    List<PolicyPlan> policies =
        MethodPlanner.plan(parts, method, places, PolicyChanges.NONE).policies();
    return policies.isEmpty()
        ? Optional.empty()
        : Optional.of(
            LimitPlan.of(method.description(), policies, true, method.takesVerdict(), false));
  }

  private static String countedByChoice(LimitPlan plan) {
    return "%s: it counts only by %s: %s"
        .formatted(
            plan.method(), plan.charges().get(0).source().written(), LimitPlan.COUNTED_BY_CHOICE);
  }

  /**
   * Finds rules that another rule of the same place always precedes; a class may limit in general
   * what a method limits more. In any interval of {@code w1}, exact logs with {@code c2} units in
   * any {@code w2} admit at most {@code c2} for each {@code w2} that it takes to cover {@code w1}.
   * A cost that is known at the end may take more, so its rules are left out.
   */
  private static void addUseless(LimitPlan place, List<String> found) {
    place.charges().stream()
        .filter(planned -> planned.actualCost().isEmpty())
        .forEach(planned -> addUseless(place.method(), planned, found));
  }

  private static void addUseless(String method, PlannedCharge planned, List<String> found) {
    List<Rule> rules = planned.rules().rules();
    for (int i = 0; i < rules.size(); i++) {
      for (int j = 0; j < rules.size(); j++) {
        Rule rule = rules.get(i);
        Rule stricter = rules.get(j);
        if (i != j && neverDeniesBeside(rule, stricter) && (i > j || !same(rule, stricter))) {
          found.add(
              "%s: @RateRule = %s: it never denies a call, since the rule '%s' admits at most %s in the same time: remove it, or change its numbers"
                  .formatted(
                      method, rule.name(), stricter.name(), admitted(stricter, rule.window())));
          break;
        }
      }
    }
  }

  private static boolean same(Rule one, Rule other) {
    return one.withName(other.name()).equals(other);
  }

  private static boolean neverDeniesBeside(Rule rule, Rule stricter) {
    return rule instanceof SlidingWindowLogRule
        && stricter instanceof SlidingWindowLogRule
        && admitted(stricter, rule.window()) <= rule.count();
  }

  private static long admitted(Rule rule, Duration time) {
    long windows = -Math.floorDiv(-time.toNanos(), rule.window().toNanos()); // rounded up
    return Math.multiplyExact(windows, rule.count());
  }

  /** An annotation as the readers find it at the start. */
  private static AnnotationValue<?> readable(AnnotationValue<?> written) {
    AnnotationValue<?> replaced = replaced(written);
    MutableAnnotationMetadata one = new MutableAnnotationMetadata();
    one.addDeclaredAnnotation(replaced.getAnnotationName(), replaced.getValues());
    AnnotationValue<Annotation> evaluable =
        EvaluatedAnnotationMetadata.wrapIfNecessary(new WithExpressions(one))
            .getAnnotation(replaced.getAnnotationName());
    return evaluable == null ? replaced : evaluable;
  }

  private static AnnotationValue<?> replaced(AnnotationValue<?> written) {
    Map<CharSequence, Object> members = new LinkedHashMap<>();
    written
        .getValues()
        .forEach(
            (member, value) ->
                members.put(
                    member, replaced(written.getAnnotationName(), member.toString(), value)));
    return new AnnotationValue<>(written.getAnnotationName(), members);
  }

  private static Object replaced(String annotation, String member, Object value) {
    if (value instanceof EvaluatedExpressionReference reference) {
      return new Uncompiled(String.valueOf(reference.annotationValue()));
    }
    if (value instanceof AnnotationValue<?> nested) {
      return replaced(nested);
    }
    if (value instanceof Object[] several) {
      Object[] all =
          (Object[]) Array.newInstance(several.getClass().getComponentType(), several.length);
      for (int i = 0; i < several.length; i++) {
        all[i] = replaced(annotation, member, several[i]);
      }
      return all;
    }
    return value instanceof String text && text.contains("${")
        ? resolved(annotation, member, text)
        : value;
  }

  /** Some text that the member may have once the placeholders in it are known. */
  private static String resolved(String annotation, String member, String text) {
    String distinct = "placeholder-" + Integer.toHexString(text.hashCode());
    return switch (member) {
      case "cost" -> "1";
      case "lease" -> "10ms";
      case "zone" -> "UTC";
      case "anchor" -> "2024-01-01T00:00";
      case "header", "name", "value", "condition", "code", "message" -> distinct;
      case "key" -> annotation.equals(RateLimiter.class.getName()) ? distinct : text;
      default -> text;
    };
  }

  /** An expression that Micronaut is about to compile. */
  private record Uncompiled(String text) implements EvaluatedExpression {

    @Override
    public Object evaluate(ExpressionEvaluationContext context) {
      throw new IllegalStateException(text + " is not compiled yet");
    }

    @Override
    public String toString() {
      return text;
    }
  }

  private record WithExpressions(AnnotationMetadata metadata)
      implements AnnotationMetadataDelegate {

    @Override
    public AnnotationMetadata getAnnotationMetadata() {
      return metadata;
    }

    @Override
    public boolean hasEvaluatedExpressions() {
      return true;
    }
  }

  /**
   * Beans of the application that only exist at run time. Each has a class of its own, since two
   * limits that name two types count separately.
   */
  private static final class StandIns implements NamedBeans {

    private final Map<String, Object> known = new HashMap<>();

    @Override
    public <T> BeanRef<T> ofType(Sourced<AnnotationClassValue<?>> named, Class<T> type) {
      return bean(type, named.value().getName());
    }

    @Override
    public <T> Optional<BeanRef<T>> named(Class<T> type, String name) {
      return Optional.of(bean(type, name));
    }

    @SuppressWarnings("unchecked") // a proxy of the type
    private <T> BeanRef<T> bean(Class<T> type, String name) {
      T object =
          type.cast(known.computeIfAbsent(type.getName() + ' ' + name, any -> standIn(type)));
      return new BeanRef<>(name, (Class<? extends T>) object.getClass(), true, () -> object);
    }

    /** Classes of two class loaders are two classes. */
    private static Object standIn(Class<?> type) {
      ClassLoader own = new ClassLoader(type.getClassLoader()) {};
      return Proxy.newProxyInstance(
          own,
          new Class<?>[] {type},
          (self, method, arguments) ->
              switch (method.getName()) {
                case "equals" -> self == arguments[0];
                case "hashCode" -> System.identityHashCode(self);
                case "stateSize" -> CustomAlgorithm.MAX_STATE;
                default -> method.getReturnType() == String.class ? "stand-in" : null;
              });
    }
  }
}
