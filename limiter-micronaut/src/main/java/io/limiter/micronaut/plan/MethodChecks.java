// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.Rule;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.scheduling.annotation.Scheduled;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Rejects limits that a method cannot have: those that need to see when its calls end, those that
 * need a request where there is none, and those that are to be decided before security and need
 * what is known only behind it.
 */
final class MethodChecks {

  private static final String APART =
      "count the address or a header, or put this limit on a method that the route calls";

  private MethodChecks() {}

  /** Rejects a rule that depends on a call's completion if the method's result does not show it. */
  static void requireSeenCompletion(
      @Nullable LimitedMethod method, MemberSet rule, PlannedCharge.CountedCalls kind) {
    Optional<String> hidden = hiddenCompletion(method);
    if (hidden.isEmpty()
        || kind == PlannedCharge.CountedCalls.ALL
        || kind == PlannedCharge.CountedCalls.WAITING) {
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

  /** The same for a duplicate guard. */
  static void requireSeenCompletion(
      @Nullable LimitedMethod method, MemberSet policy, DuplicateGuard.Release release) {
    Optional<String> hidden = hiddenCompletion(method);
    if (hidden.isEmpty() || release instanceof DuplicateGuard.Release.Never) {
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

  private static Optional<String> hiddenCompletion(@Nullable LimitedMethod method) {
    return method == null ? Optional.empty() : method.hiddenCompletion();
  }

  private static String showEnd(String result) {
    return "the method returns "
        + result
        + ", which does not show when a call ends: return a CompletionStage or a Publisher";
  }

  /** Rejects limits that need a request where Micronaut calls the method without one. */
  static void requireRequest(
      @Nullable LimitedMethod method, List<PlannedCharge> charges, Optional<DuplicateGuard> guard) {
    if (method == null || !method.annotations().hasStereotype(Scheduled.class)) {
      return;
    }
    Stream.concat(
            charges.stream()
                .filter(planned -> planned.condition().isEmpty())
                .map(PlannedCharge::source),
            guard.filter(each -> each.condition().isEmpty()).stream()
                .map(DuplicateGuard::submitter))
        .filter(MethodChecks::needsRequest)
        .findFirst()
        .ifPresent(
            source -> {
              throw Origin.annotated(
                      method.description(),
                      "@Scheduled",
                      source instanceof SubjectSource.Address
                          ? source.written() + ", which is the default"
                          : source.written())
                  .mistake(
                      "it is called outside of any request, where only limitType = GLOBAL and a resolver with resolveOutsideOfRequest() have a subject, so each of its calls would fail: use one of them, or limit a method that routes call");
            });
  }

  private static boolean needsRequest(SubjectSource source) {
    return source instanceof SubjectSource.Address
        || source instanceof SubjectSource.User
        || source instanceof SubjectSource.Header;
  }

  /**
   * Rejects limits that cannot be decided before security. All limits of a method are one decision,
   * so one annotation that asks for it applies to all of them, and none may depend on anything that
   * is known only later.
   *
   * @param asked where a policy asks for it
   * @param gate whether the gate decides; only the gate runs before security
   */
  static void requireBeforeSecurity(
      Origin asked,
      @Nullable LimitedMethod method,
      List<PlannedCharge> charges,
      Optional<DuplicateGuard> guard,
      boolean gate) {
    if (method == null || !method.isRoute()) {
      throw tooEarly(
          asked, "security protects only routes, and this method is not a route: remove it");
    }
    if (!gate) {
      throw tooEarly(
          asked,
          "with limiter.gate.enabled = false all calls are decided around the method, after security: enable the gate, or remove it");
    }
    Stream.concat(
            charges.stream().map(PlannedCharge::source),
            guard.stream().map(DuplicateGuard::submitter))
        .forEach(source -> requireKnown(asked, source));
    if (charges.stream().anyMatch(planned -> planned.cost().needsArguments())) {
      throw tooEarly(
          asked,
          "the cost depends on the arguments, which are bound after security: give a number");
    }
    if (charges.stream().anyMatch(PlannedCharge::isConditionalByArguments)
        || guard.flatMap(DuplicateGuard::condition).filter(Condition::needsArguments).isPresent()) {
      throw tooEarly(
          asked,
          "the condition depends on the arguments, which are bound after security: name a bean of type LimitCondition");
    }
    if (guard.filter(each -> each.submission().needsArguments()).isPresent()) {
      throw tooEarly(
          asked,
          "duplicates are found by the arguments, which are bound after security: write duplicate = @Duplicate(by = DuplicateBy.CALLER), or IDEMPOTENCY_KEY");
    }
  }

  private static void requireKnown(Origin asked, SubjectSource source) {
    if (source instanceof SubjectSource.User) {
      throw tooEarly(
          asked,
          "%s counts the user, who is known only after security: %s"
              .formatted(source.written(), APART));
    }
    if (source instanceof SubjectSource.Submitter) {
      throw tooEarly(
          asked,
          "where all calls are counted together, duplicates are found by the user, who is known only after security: put preventDuplicate on a @RateLimiter that counts the address or a header");
    }
    if (source.needsArguments()) {
      throw tooEarly(
          asked,
          "%s needs the arguments, which are bound after security: %s"
              .formatted(source.written(), APART));
    }
  }

  private static ConfigurationException tooEarly(Origin asked, String remedy) {
    return asked.mistake(remedy);
  }

  /** The stack itself checks the rules of one subject; this checks those of several subjects. */
  static void requireOneThatWaits(String method, List<PlannedCharge> charges) {
    List<String> waiting =
        charges.stream()
            .filter(planned -> !planned.observed())
            .flatMap(planned -> planned.rules().waiting().stream())
            .map(Rule::name)
            .toList();
    if (waiting.size() > 1) {
      throw Origin.annotated(method, "@RateRule.leakyBucket", waiting)
          .mistake(
              "a call can wait under one rule only, since calls that leave one queue would reach the next in any order: keep one of them, and use other algorithms for the rest");
    }
  }
}
