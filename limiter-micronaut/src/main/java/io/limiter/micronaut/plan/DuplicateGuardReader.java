// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.DuplicateGuard.Release;
import io.limiter.micronaut.plan.DuplicateGuard.SubmissionContent;
import io.limiter.micronaut.subject.SubjectSource;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Creates the duplicate guard of a method from the definition of its policy. */
final class DuplicateGuardReader {

  private static final Duration MIN_CLAIM = Duration.ofSeconds(1);
  private static final Duration MAX_CLAIM = Duration.ofMinutes(10);

  private DuplicateGuardReader() {}

  /**
   * @param text the response to a duplicate
   */
  static DuplicateGuard read(
      MemberSet policy,
      String limit,
      SubjectSource source,
      @Nullable LimitedMethod method,
      Optional<Condition> condition,
      DenialText text) {
    Optional<Choice> chosen =
        method != null && by(policy) == DuplicateBy.AUTO && !policy.has(PolicyMember.DUPLICATE_KEY)
            ? Optional.of(choose(method))
            : Optional.empty();
    Release release = release(policy);
    MethodChecks.requireSeenCompletion(method, policy, release);
    RuleStack rules = RuleStack.of(List.of(RuleReader.duplicateRule(policy)));
    return new DuplicateGuard(
        limit,
        source.submitter(),
        claimed(policy, method, rules),
        submission(policy, method, chosen),
        chosen.map(Choice::written),
        release,
        text,
        condition,
        false);
  }

  private static DuplicateBy by(MemberSet policy) {
    return policy.get(PolicyMember.DUPLICATE_BY).orElse(DuplicateBy.AUTO);
  }

  /** The rule of a guard that takes submissions for a short time until they have ended. */
  private static RuleStack claimed(
      MemberSet policy, @Nullable LimitedMethod method, RuleStack guard) {
    if (!policy.has(PolicyMember.CLAIM)) {
      return guard;
    }
    Sourced<Duration> written = policy.find(PolicyMember.CLAIM).orElseThrow();
    MethodChecks.requireSeenCompletion(method, written, "remove it");
    Duration claim = written.value();
    if (claim.compareTo(MIN_CLAIM) < 0 || claim.compareTo(MAX_CLAIM) > 0) {
      throw PolicyMember.CLAIM.mistake(written.origin());
    }
    Rule rule = guard.rules().get(0);
    if (claim.compareTo(rule.window()) >= 0) {
      policy.reject(
          PolicyMember.CLAIM,
          "a submission is kept for %s s, which must be longer: set the time of the duplicate guard, or remove it"
              .formatted(rule.window().toSeconds()));
    }
    if (rule.count() != 1) {
      policy.reject(
          PolicyMember.CLAIM,
          "%s equal submissions are accepted, and only a single one is claimed: remove one of them"
              .formatted(rule.count()));
    }
    return guard.withClaim(claim);
  }

  private static SubmissionContent submission(
      MemberSet policy, @Nullable LimitedMethod method, Optional<Choice> chosen) {
    DuplicateBy by = by(policy);
    if (method == null) {
      if (by == DuplicateBy.ARGUMENTS) {
        throw policy.mistake(
            PolicyMember.DUPLICATE_BY, by, "a policy without a method has no arguments to compare");
      }
      by = by == DuplicateBy.AUTO ? DuplicateBy.CALLER : by;
    }
    if (policy.has(PolicyMember.DUPLICATE_KEY)) {
      return new SubmissionContent.ByExpression(
          SubjectReader.expression(
              policy.find(PolicyMember.DUPLICATE_KEY).orElseThrow(),
              "it is the same for every call: write an expression over the arguments, such as \"#{order.number}\", or use by = CALLER"));
    }
    return switch (by) {
      case AUTO -> chosen.orElseThrow().submission();
      case CALLER -> new SubmissionContent.ByCaller();
      case ARGUMENTS -> allArguments(policy, Objects.requireNonNull(method));
    };
  }

  private static Release release(MemberSet policy) {
    boolean never = policy.isFalse(PolicyMember.RELEASE_ON_FAILURE);
    Optional<Sourced<List<Integer>>> statuses = policy.find(PolicyMember.RELEASE_ON);
    if (statuses.isEmpty()) {
      return never ? Release.NEVER : Release.ON_FAILURE;
    }
    return Release.on(
        PolicyPlanner.statuses(
            statuses.get(), "name statuses, or write releaseOnFailure = false instead"));
  }

  /**
   * What the default of duplicate.by chooses for a method.
   *
   * @param written the choice and its reason, for the log
   */
  private record Choice(SubmissionContent submission, String written) {}

  /**
   * Compares all arguments that the caller provides, if there are any and JSON can represent them.
   */
  private static Choice choose(LimitedMethod method) {
    List<LimitedMethod.Parameter> parameters = method.parameters().orElse(List.of());
    List<Integer> filled = positions(parameters, LimitedMethod.Parameter::isFilled);
    if (filled.isEmpty()) {
      return new Choice(
          new SubmissionContent.ByCaller(), "CALLER (the caller provides no argument)");
    }
    for (int i : filled) {
      Optional<String> part = parameters.get(i).obstacle();
      if (part.isPresent()) {
        return new Choice(
            new SubmissionContent.ByCaller(),
            "CALLER ('%s' cannot be compared because of %s)"
                .formatted(parameters.get(i).name(), part.get()));
      }
    }
    return new Choice(
        new SubmissionContent.ByArguments(filled),
        filled.stream()
            .map(i -> parameters.get(i).name())
            .collect(Collectors.joining(", ", "ARGUMENTS (", ")")));
  }

  private static List<Integer> positions(
      List<LimitedMethod.Parameter> parameters, Predicate<LimitedMethod.Parameter> some) {
    return IntStream.range(0, parameters.size())
        .filter(i -> some.test(parameters.get(i)))
        .boxed()
        .toList();
  }

  /**
   * All arguments except the verdict and those that Kotlin adds. Rejects arguments that JSON cannot
   * represent.
   */
  private static SubmissionContent.ByArguments allArguments(
      MemberSet policy, LimitedMethod method) {
    Origin by = policy.find(PolicyMember.DUPLICATE_BY).orElseThrow().origin();
    Optional<List<LimitedMethod.Parameter>> known = method.parameters();
    if (known.filter(List::isEmpty).isPresent()) {
      throw by.mistake("the method has no arguments: use DuplicateBy.CALLER");
    }
    List<LimitedMethod.Parameter> parameters = known.orElse(List.of());
    List<Integer> compared = positions(parameters, LimitedMethod.Parameter::isCompared);
    for (int i : compared) {
      Optional<String> part = parameters.get(i).obstacle();
      if (part.isPresent()) {
        throw by.mistake(
            "the parameter '%s' cannot be digested because of %s: make it plain data or an @Introspected type, remove it from the method, or use DuplicateBy.CALLER"
                .formatted(parameters.get(i).name(), part.get()));
      }
    }
    return new SubmissionContent.ByArguments(compared);
  }
}
