// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Expressible;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.limiter.micronaut.definition.ResultKind;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.scheduling.annotation.Scheduled;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Rejects limits that a method cannot have: those that need to see when its calls end, those that
 * need a request where there is none, and those before security that need what is known only after
 * it.
 */
final class MethodChecks {

  private static final String APART =
      "count the address or a header, or put this limit on a method that the route calls";

  /** An expression that is nothing but a parameter. */
  private static final Pattern PARAMETER = Pattern.compile("#\\{\\s*(\\w+)\\s*}");

  private MethodChecks() {}

  /** Rejects a rule that depends on a call's completion if the method's result does not show it. */
  static void requireSeenCompletion(
      @Nullable LimitedMethod method, MemberSet rule, PlannedCharge.CountedCalls kind) {
    if (kind == PlannedCharge.CountedCalls.ALL || kind == PlannedCharge.CountedCalls.WAITING) {
      return;
    }
    Optional<String> hidden = hiddenCompletion(method);
    if (hidden.isEmpty()) {
      return;
    }
    throw kind == PlannedCharge.CountedCalls.IN_FLIGHT
        ? rule.mistake(
            PolicyMember.ALGORITHM,
            "CONCURRENCY_LIMIT",
            showEnd(hidden.get()) + ", or limit how often it is called, with another algorithm")
        : rule.mistake(
            PolicyMember.COUNTS, kind, showEnd(hidden.get()) + ", or count all of its calls");
  }

  /**
   * Rejects a member that depends on the end of a call, if the result does not show that.
   *
   * @param otherwise what to do in place of showing it
   */
  static void requireSeenCompletion(
      @Nullable LimitedMethod method, Sourced<?> member, String otherwise) {
    hiddenCompletion(method)
        .ifPresent(
            hidden -> {
              throw member.origin().mistake(showEnd(hidden) + ", or " + otherwise);
            });
  }

  /**
   * Rejects a duplicate guard that depends on a call's completion if the result does not show it.
   */
  static void requireSeenCompletion(
      @Nullable LimitedMethod method, MemberSet policy, DuplicateGuard.Release release) {
    if (release.equals(DuplicateGuard.Release.NEVER)) {
      return;
    }
    Optional<String> hidden = hiddenCompletion(method);
    if (hidden.isEmpty()) {
      return;
    }
    String remedy =
        showEnd(hidden.get()) + ", or write duplicate = @Duplicate(releaseOnFailure = false)";
    policy.reject(PolicyMember.RELEASE_ON, remedy + " in its place");
    boolean shorthand =
        policy
            .find(PolicyMember.DUPLICATE)
            .filter(it -> it.origin().value().equals("within"))
            .isPresent();
    throw policy.mistake(
        PolicyMember.DUPLICATE,
        shorthand ? "within" : true,
        shorthand ? remedy + " in a @RateLimiter" : remedy);
  }

  /** Rejects any limit of a method whose result cannot be guarded: each call would fail. */
  static void requireGuardedResult(@Nullable LimitedMethod method, List<PolicyPlan> policies) {
    if (method != null && !policies.isEmpty() && method.result() == ResultKind.OF_ITS_CLASS) {
      throw Origin.annotated(method.description(), "result", method.resultType().description())
          .mistake(
              "the limiter returns one around that of the method, and can make none of this class: return a CompletionStage, a Publisher, a Flux or a Mono");
    }
  }

  private static Optional<String> hiddenCompletion(@Nullable LimitedMethod method) {
    return method != null && method.result() == ResultKind.HIDDEN
        ? Optional.of(method.resultType().description())
        : Optional.empty();
  }

  private static String showEnd(String result) {
    return "the method returns "
        + result
        + ", which does not show when a call ends: return a CompletionStage or a Publisher";
  }

  /**
   * Rejects an expression that is a parameter whose type shows that each call would be rejected.
   *
   * @param member a subject, or a cost
   */
  static void requireValue(
      @Nullable LimitedMethod method, Sourced<Expressible> member, boolean cost) {
    Matcher name = PARAMETER.matcher(member.value().text());
    if (method == null || member.value().expression().isEmpty() || !name.matches()) {
      return;
    }
    method.parameters().stream()
        .flatMap(List::stream)
        .filter(parameter -> parameter.name().equals(name.group(1)))
        .map(LimitedMethod.Parameter::value)
        .filter(
            value ->
                value == LimitedMethod.Value.STRUCTURE
                    || (cost && value == LimitedMethod.Value.TEXT))
        .findFirst()
        .ifPresent(
            value -> {
              throw member
                  .origin()
                  .mistake(
                      "the parameter '%s' is no %s, so each call would be a bad request: write an expression that gives one"
                          .formatted(name.group(1), cost ? "number" : "text or number"));
            });
  }

  /** Rejects limits that need a request where Micronaut calls the method without one. */
  static void requireRequest(@Nullable LimitedMethod method, List<PolicyPlan> policies) {
    if (method == null || !method.annotations().hasStereotype(Scheduled.class)) {
      return;
    }
    Stream.concat(
            charges(policies)
                .filter(planned -> planned.condition().isEmpty())
                .map(PlannedCharge::source),
            guards(policies)
                .filter(guard -> guard.condition().isEmpty())
                .map(DuplicateGuard::submitter))
        .filter(SubjectSource::needsRequest)
        .findFirst()
        .ifPresent(
            source -> {
              throw Origin.annotated(
                      method.description(),
                      "@Scheduled",
                      source.kind() == SubjectSource.Kind.ADDRESS
                          ? source.written() + ", which is the default"
                          : source.written())
                  .mistake(
                      "it is called outside of any request, where only limitType = GLOBAL and a resolver with resolveOutsideOfRequest() have a subject, so each of its calls would fail: use one of them, or limit a method that routes call");
            });
  }

  /**
   * Rejects limits that cannot be decided before security. All limits of a method are one decision,
   * so one annotation that asks for it applies to all of them, and none may depend on anything that
   * is known only later.
   *
   * @param asked where a policy asks for it
   * @param method null for a policy that exists only in settings, which limits paths
   * @param gate whether the gate decides; only the gate runs before security
   */
  static void requireBeforeSecurity(
      Origin asked, @Nullable LimitedMethod method, List<PolicyPlan> policies, boolean gate) {
    if (method != null && !method.isRoute()) {
      throw asked.mistake(
          "security protects only routes, and this method is not a route: remove it");
    }
    if (!gate) {
      throw asked.mistake(
          "with limiter.gate.enabled = false all calls are decided around the method, after security: enable the gate, or remove it");
    }
    policies.forEach(policy -> policy.sources().forEach(source -> requireKnown(asked, source)));
    if (charges(policies).anyMatch(planned -> planned.cost().needsArguments())) {
      throw asked.mistake(
          "the cost needs arguments that are bound after security: use a number, or plain arguments of the path, query, headers or cookies");
    }
    if (policies.stream()
        .flatMap(policy -> policy.conditions().stream())
        .anyMatch(Condition::needsArguments)) {
      throw asked.mistake(
          "the condition needs arguments that are bound after security: name a bean of type LimitCondition, or use plain arguments of the path, query, headers or cookies");
    }
    if (guards(policies).anyMatch(guard -> guard.submission().needsArguments())) {
      throw asked.mistake(
          "duplicates are found by arguments that are bound after security: write duplicate = @Duplicate(by = DuplicateBy.CALLER)");
    }
  }

  /**
   * Rejects a policy that asks for a decision before the body is read where there is none.
   *
   * @param method null for a policy that exists only in settings, which limits paths
   * @param gate whether the gate decides; only the gate runs before the body is read
   */
  static void requireEarly(
      @Nullable LimitedMethod method, List<PolicyPlan> policies, boolean gate) {
    for (PolicyPlan policy : policies) {
      if (policy.early().isEmpty()) {
        continue;
      }
      Origin asked = policy.early().get();
      if (method != null && !method.isRoute()) {
        throw asked.mistake("only routes have a body, and this method is not a route: remove it");
      }
      if (method != null && method.takesVerdict()) {
        throw asked.mistake(
            "the method has a parameter for the verdict, which is one decision: remove one of them");
      }
      if (!gate) {
        throw asked.mistake(
            "with limiter.gate.enabled = false all calls are decided around the method, after the body is read: enable the gate, or remove it");
      }
    }
  }

  /** Rejects an early policy without a rule that can be decided before the body is read. */
  static void requireEarlyRules(List<PolicyPlan> policies) {
    for (PolicyPlan policy : policies) {
      if (policy.early().isPresent()
          && policy.charges().stream().noneMatch(PlannedCharge::mayBeEarly)) {
        throw policy
            .early()
            .get()
            .mistake(
                "none of its rules can be decided before the body is read: each needs the arguments, makes calls wait, or depends on how a call ends. Add a rule that counts the address, the user or a header, or remove it");
      }
    }
  }

  private static void requireKnown(Origin asked, SubjectSource source) {
    if (source.kind() == SubjectSource.Kind.USER) {
      throw asked.mistake(
          "%s counts the user, who is known only after security: %s"
              .formatted(source.written(), APART));
    }
    if (source.kind() == SubjectSource.Kind.SUBMITTER) {
      throw asked.mistake(
          "where all calls are counted together, duplicates are found by the user, who is known only after security: put preventDuplicate on a @RateLimiter that counts the address or a header");
    }
    if (source.needsArguments()) {
      throw asked.mistake(
          "%s needs arguments that are bound after security: use plain ones of the path, query, headers or cookies, %s"
              .formatted(source.written(), APART));
    }
  }

  private static Stream<PlannedCharge> charges(List<PolicyPlan> policies) {
    return policies.stream().flatMap(policy -> policy.charges().stream());
  }

  private static Stream<DuplicateGuard> guards(List<PolicyPlan> policies) {
    return policies.stream().flatMap(policy -> policy.duplicates().stream());
  }

  /** An item has one cost. */
  static void requireOneCostOfItems(String method, List<PolicyPlan> policies) {
    Set<String> beans = new LinkedHashSet<>();
    for (PolicyPlan policy : policies) {
      for (PlannedCharge planned : policy.charges()) {
        planned
            .actualCost()
            .filter(cost -> cost.steps().isPresent())
            .ifPresent(cost -> beans.add(cost.bean().name()));
      }
    }
    if (beans.size() > 1) {
      throw Origin.annotated(method, "@RateLimiter.resultCost", beans)
          .mistake(
              "the method streams, and each item has one cost: use one of them for all limits, or return a type that shows that it does not");
    }
  }

  /** The stack itself checks the rules of one subject; this checks those of several subjects. */
  static void requireOneThatWaits(String method, List<PolicyPlan> policies) {
    List<String> waiting = new ArrayList<>();
    for (PolicyPlan policy : policies) {
      for (PlannedCharge planned : policy.charges()) {
        if (!planned.observed()) {
          planned.rules().waiting().ifPresent(rule -> waiting.add(rule.name()));
        }
      }
    }
    if (waiting.size() > 1) {
      throw Origin.annotated(method, "@RateRule.leakyBucket", waiting)
          .mistake(
              "a call can wait under one rule only, since calls that leave one queue would reach the next in any order: keep one of them, and use other algorithms for the rest");
    }
  }
}
