// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Written;
import io.limiter.micronaut.definition.ResultKind;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.DuplicateGuard.Release;
import io.limiter.micronaut.plan.DuplicateGuard.Replay;
import io.limiter.micronaut.plan.DuplicateGuard.Submission;
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
    Optional<Replay> replay = replay(policy, method, source, condition);
    MethodChecks.requireSeenCompletion(method, policy, release);
    RuleStack rules = RuleStack.of(List.of(RuleReader.duplicateRule(policy)));
    return new DuplicateGuard(
        limit,
        replay.isPresent() && !SubjectReader.isWrittenIn(policy)
            ? new SubjectSource.Submitter()
            : source.submitter(),
        replay.isPresent() ? rules : claimed(policy, method, rules),
        submission(policy, method, chosen),
        chosen.map(Choice::written),
        release,
        replay,
        text,
        condition,
        false);
  }

  private static DuplicateBy by(MemberSet policy) {
    return policy
        .get(PolicyMember.DUPLICATE_BY)
        .orElse(replays(policy) ? DuplicateBy.IDEMPOTENCY_KEY : DuplicateBy.AUTO);
  }

  private static boolean replays(MemberSet policy) {
    return policy.get(PolicyMember.REPLAY).filter(time -> !time.isZero()).isPresent();
  }

  /**
   * How answers are repeated. Only the response filter sees an answer as its client does, so only
   * routes have it, and their results must fit into memory.
   */
  private static Optional<Replay> replay(
      MemberSet policy,
      @Nullable LimitedMethod method,
      SubjectSource source,
      Optional<Condition> condition) {
    if (!replays(policy)) {
      for (PolicyMember<?> member :
          List.of(PolicyMember.DUPLICATE_MAX_WAIT, PolicyMember.CHARGE_REPETITIONS)) {
        policy.reject(member, "it has no effect without replay: set that, or remove it");
      }
      return Optional.empty();
    }
    Origin asked = policy.find(PolicyMember.REPLAY).orElseThrow().origin();
    if (by(policy) != DuplicateBy.IDEMPOTENCY_KEY || policy.has(PolicyMember.DUPLICATE_KEY)) {
      throw asked.mistake(
          "only a submission with an Idempotency-Key has its answer repeated: use by = IDEMPOTENCY_KEY, or remove it");
    }
    if (method != null && !method.isRoute()) {
      throw asked.mistake(
          "only the response to a request is kept, and this method is not a route: put it on the route, or remove it");
    }
    ResultKind kind = method == null ? ResultKind.UNKNOWN : method.result();
    if (kind == ResultKind.STREAM || kind == ResultKind.RESPONSES) {
      throw asked.mistake(
          "the result is a stream, which is not kept: return a single value, or remove it");
    }
    if (kind == ResultKind.WRITTEN_LATER) {
      throw asked.mistake(
          "the result is a file, which is not kept: return its content as a byte[], or remove it");
    }
    if (condition.isPresent() || source.submitter().needsArguments()) {
      throw asked.mistake(
          "submissions are claimed before the arguments are bound: remove %s, or put it into a @RateLimiter of its own"
              .formatted(condition.isPresent() ? "the condition" : source.written()));
    }
    policy.reject(
        PolicyMember.BEFORE_SECURITY,
        "an answer belongs to its user, who is known only after security: remove it");
    for (PolicyMember<?> member :
        List.of(
            PolicyMember.DUPLICATE_COUNT,
            PolicyMember.DUPLICATE_TIME,
            PolicyMember.DUPLICATE_RULE)) {
      policy.reject(member, "the time of replay holds in its place: remove it");
    }
    for (PolicyMember<?> member :
        List.of(
            PolicyMember.DUPLICATE_STATUS,
            PolicyMember.DUPLICATE_CODE,
            PolicyMember.DUPLICATE_MESSAGE)) {
      policy.reject(member, "a repetition receives the first response: remove it");
    }
    policy.reject(
        PolicyMember.RELEASE_ON_FAILURE,
        "an answer of 500 and above is never kept: remove it, or name other statuses with releaseOn");
    return Optional.of(
        new Replay(
            time(policy, PolicyMember.REPLAY, Replay.CLAIM, Replay.MIN_RETAIN, Replay.MAX_RETAIN),
            time(policy, PolicyMember.CLAIM, Replay.CLAIM, Replay.MIN_CLAIM, Replay.MAX_CLAIM),
            time(
                policy,
                PolicyMember.DUPLICATE_MAX_WAIT,
                Replay.MAX_WAIT,
                Duration.ZERO,
                Replay.LONGEST_WAIT),
            policy.has(PolicyMember.RELEASE_ON) ? release(policy).statuses() : Replay.UNKEPT,
            policy
                .find(PolicyMember.CHARGE_REPETITIONS)
                .filter(Written::value)
                .map(Written::origin)));
  }

  /** The rule of a guard that takes submissions for a short time until they have ended. */
  private static RuleStack claimed(
      MemberSet policy, @Nullable LimitedMethod method, RuleStack guard) {
    if (!policy.has(PolicyMember.CLAIM)) {
      return guard;
    }
    MethodChecks.requireSeenCompletion(
        method, policy.find(PolicyMember.CLAIM).orElseThrow(), "remove it");
    Duration claim =
        time(policy, PolicyMember.CLAIM, Replay.CLAIM, Replay.MIN_CLAIM, Replay.MAX_CLAIM);
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

  private static Duration time(
      MemberSet policy,
      PolicyMember<Duration> member,
      Duration usual,
      Duration least,
      Duration most) {
    Optional<Written<Duration>> written = policy.find(member);
    if (written.isPresent()
        && (written.get().value().compareTo(least) < 0
            || written.get().value().compareTo(most) > 0)) {
      throw member.mistake(written.get().origin());
    }
    return written.map(Written::value).orElse(usual);
  }

  private static Submission submission(
      MemberSet policy, @Nullable LimitedMethod method, Optional<Choice> chosen) {
    DuplicateBy by = by(policy);
    if (method == null) {
      if (by == DuplicateBy.ARGUMENTS) {
        throw policy.mistake(
            PolicyMember.DUPLICATE_BY, by, "a policy without a method has no arguments to compare");
      }
      by = by == DuplicateBy.AUTO ? DuplicateBy.CALLER : by;
    }
    if (by != DuplicateBy.IDEMPOTENCY_KEY) {
      policy.reject(
          PolicyMember.REQUIRE_IDEMPOTENCY_KEY,
          "it has no effect without by = IDEMPOTENCY_KEY: set that, or remove it");
    }
    if (policy.has(PolicyMember.DUPLICATE_KEY)) {
      policy.reject(
          PolicyMember.DUPLICATE_BY,
          "key already defines what makes submissions equal: remove one of them");
      return new Submission.ByExpression(
          SubjectReader.expression(
              policy.find(PolicyMember.DUPLICATE_KEY).orElseThrow(),
              "it is the same for every call: write an expression over the arguments, such as \"#{order.number}\", or use by = CALLER"));
    }
    return switch (by) {
      case AUTO -> chosen.orElseThrow().submission();
      case CALLER -> new Submission.ByCaller();
      case ARGUMENTS -> allArguments(policy, Objects.requireNonNull(method));
      case IDEMPOTENCY_KEY ->
          new Submission.ByIdempotencyKey(!policy.isFalse(PolicyMember.REQUIRE_IDEMPOTENCY_KEY));
    };
  }

  private static Release release(MemberSet policy) {
    boolean never = policy.isFalse(PolicyMember.RELEASE_ON_FAILURE);
    Optional<Written<List<Integer>>> statuses = policy.find(PolicyMember.RELEASE_ON);
    if (statuses.isEmpty()) {
      return never ? Release.NEVER : Release.ON_FAILURE;
    }
    if (never) {
      throw policy.mistake(
          PolicyMember.RELEASE_ON_FAILURE,
          false,
          "releaseOn already defines when to release: remove one of them");
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
  private record Choice(Submission submission, String written) {}

  /**
   * Compares all arguments that the caller provides, if there are any and JSON can represent them.
   */
  private static Choice choose(LimitedMethod method) {
    List<LimitedMethod.Parameter> parameters = method.parameters().orElse(List.of());
    List<Integer> filled = positions(parameters, LimitedMethod.Parameter::isFilled);
    if (filled.isEmpty()) {
      return new Choice(new Submission.ByCaller(), "CALLER (the caller provides no argument)");
    }
    for (int i : filled) {
      Optional<String> part = parameters.get(i).obstacle();
      if (part.isPresent()) {
        return new Choice(
            new Submission.ByCaller(),
            "CALLER ('%s' cannot be compared because of %s)"
                .formatted(parameters.get(i).name(), part.get()));
      }
    }
    return new Choice(
        new Submission.ByArguments(filled),
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
  private static Submission.ByArguments allArguments(MemberSet policy, LimitedMethod method) {
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
    return new Submission.ByArguments(compared);
  }
}
