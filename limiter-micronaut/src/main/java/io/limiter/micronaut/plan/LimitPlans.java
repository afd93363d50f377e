// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.annotation.Limited;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.processor.ExecutableMethodProcessor;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.DelegatingExecutableMethod;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * The plans of all limited methods, each built once. Methods of beans are planned when the context
 * starts, so that a mistake in an annotation stops the start; those of beans that a factory makes
 * are planned when they are first called.
 */
@Singleton
public final class LimitPlans implements ExecutableMethodProcessor<Limited> {

  /** Micronaut makes one or two objects for each method; should it make more, they wait longer. */
  private static final int MAX_REMEMBERED = 65_536;

  private static final int MAX_LISTED = 20;

  private final LimitPlanBuilder builder;
  private final SharedLimits shared = new SharedLimits();
  private final Map<Known, Optional<LimitPlan>> known = new ConcurrentHashMap<>();
  // Bounded by the number of limited methods in the application.
  private final Map<Limits, Optional<LimitPlan>> plans = new ConcurrentHashMap<>();

  LimitPlans(LimitPlanBuilder builder) {
    this.builder = builder;
  }

  /** A method as this very object: the look-up of each request hashes nothing else. */
  private record Known(ExecutableMethod<?, ?> method) {

    @Override
    public boolean equals(Object other) {
      return other instanceof Known that && method == that.method;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(method);
    }
  }

  /** A method and what limits it: a factory may make two beans of one class with other limits. */
  private record Limits(ExecutableMethod<?, ?> method, List<String> annotations) {

    static Limits of(ExecutableMethod<?, ?> method) {
      // The start names a method by its bean, a request does not: else it would be planned twice.
      return new Limits(
          method instanceof DelegatingExecutableMethod<?, ?> named ? named.getTarget() : method,
          List.of(
              Place.asWritten(method.getAnnotationValuesByType(RateLimiter.class).toArray()),
              Place.asWritten(method.getAnnotationValuesByType(RateRule.class).toArray())));
    }
  }

  @Override
  public void process(BeanDefinition<?> bean, ExecutableMethod<?, ?> method) {
    of(method);
  }

  /** The plan of a method; empty if it is not limited. */
  public Optional<LimitPlan> of(ExecutableMethod<?, ?> method) {
    Optional<LimitPlan> plan = known.get(new Known(method));
    return plan != null ? plan : find(method);
  }

  /** The names of the policies of all methods that are planned by now. */
  Set<String> policyNames() {
    return plans.values().stream()
        .flatMap(Optional::stream)
        .map(plan -> plan.policy().name())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The methods, of those that are planned by now, of whose rules none counts by another. */
  List<String> countedByChoice() {
    return plans.values().stream()
        .flatMap(Optional::stream)
        .filter(plan -> !plan.quotas().isEmpty())
        .filter(plan -> plan.quotas().stream().allMatch(quota -> quota.source().isChosen()))
        .map(LimitPlan::method)
        .sorted()
        .toList();
  }

  /** Names for a message, of many the first. */
  public static String listed(List<String> names) {
    return String.join(", ", names.subList(0, Math.min(names.size(), MAX_LISTED)))
        + (names.size() > MAX_LISTED ? ", …" : "");
  }

  /** What the default of duplicateBy chose for methods that are planned by now. */
  List<String> duplicatesByDefault() {
    return plans.values().stream()
        .flatMap(Optional::stream)
        .flatMap(
            plan ->
                plan.duplicates().flatMap(DuplicateGuard::chosen).stream()
                    .map(chosen -> plan.method() + ": " + chosen))
        .sorted()
        .toList();
  }

  /** The methods, of those that are planned by now, some of whose rules count the user. */
  public List<String> countingUsers() {
    return plans.values().stream()
        .flatMap(Optional::stream)
        .filter(LimitPlan::countsUsers)
        .map(LimitPlan::method)
        .sorted()
        .toList();
  }

  /** One plan for all objects that stand for one method: gate and guard may hold different ones. */
  private Optional<LimitPlan> find(ExecutableMethod<?, ?> method) {
    Optional<LimitPlan> plan =
        method.hasStereotype(Limited.class)
            ? plans.computeIfAbsent(Limits.of(method), any -> build(method))
            : Optional.empty();
    if (known.size() < MAX_REMEMBERED) {
      known.put(new Known(method), plan);
    }
    return plan;
  }

  private Optional<LimitPlan> build(ExecutableMethod<?, ?> method) {
    Optional<LimitPlan> plan = builder.build(method);
    plan.ifPresent(shared::register);
    return plan;
  }
}
