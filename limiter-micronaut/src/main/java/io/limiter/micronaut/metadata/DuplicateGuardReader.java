// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.Condition;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.DuplicateGuard.Submission;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.AnnotationValue;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Reads the duplicate guard of a method. */
@Singleton
final class DuplicateGuardReader {

  private static final String KEY = "key";

  private final RateRuleReader rules;
  private final RateLimiterReader limiters;

  DuplicateGuardReader(RateRuleReader rules, RateLimiterReader limiters) {
    this.rules = rules;
    this.limiters = limiters;
  }

  /** Rejects details of a guard in an annotation without one. */
  static void rejectDetails(AnnotationMembers limiter) {
    for (String member : List.of("preventDuplicateRule", "duplicate")) {
      limiter.reject(
          member, "it has no effect without preventDuplicate = true: set that, or remove it");
    }
  }

  /**
   * @param limiter the annotation whose subject submits
   * @param shorthand the {@code @PreventDuplicate} beside it; empty if the annotation itself denies
   *     duplicates
   */
  DuplicateGuard read(
      AnnotationMembers limiter,
      Optional<AnnotationMembers> shorthand,
      String limit,
      SubjectSource source,
      @Nullable LimitedMethod method,
      Optional<Condition> condition) {
    AnnotationMembers details = shorthand.orElseGet(() -> details(limiter));
    Optional<ComparedArguments.Choice> chosen =
        method != null && by(details) == DuplicateBy.AUTO && !details.hasText(KEY)
            ? Optional.of(ComparedArguments.choose(method))
            : Optional.empty();
    DuplicateGuard.Release release = release(details);
    MethodChecks.requireSeenCompletion(
        method, shorthand.orElse(limiter), details, shorthand.isPresent(), release);
    return new DuplicateGuard(
        limit,
        source.submitter(),
        RuleStack.of(List.of(shorthand.map(rules::readWithin).orElseGet(() -> rule(limiter)))),
        submission(details, method, chosen),
        chosen.map(ComparedArguments.Choice::written),
        release,
        limiters.duplicate(details, limiter),
        condition);
  }

  private static AnnotationMembers details(AnnotationMembers limiter) {
    return limiter
        .nested("duplicate", Duplicate.class)
        .orElseGet(
            () ->
                new AnnotationMembers(
                    limiter.method(),
                    limiter.name() + ".duplicate",
                    AnnotationValue.builder(Duplicate.class).build()));
  }

  private static DuplicateBy by(AnnotationMembers details) {
    return details.constant("by", DuplicateBy.class).orElse(DuplicateBy.AUTO);
  }

  private Rule rule(AnnotationMembers limiter) {
    return limiter
        .nested("preventDuplicateRule", RateRule.class)
        .map(rules::readDuplicate)
        .orElseGet(rules::defaultDuplicateRule);
  }

  private Submission submission(
      AnnotationMembers details,
      @Nullable LimitedMethod method,
      Optional<ComparedArguments.Choice> chosen) {
    DuplicateBy by = by(details);
    if (method == null) {
      if (by == DuplicateBy.ARGUMENTS) {
        throw details.error("by", by, "a policy without a method has no arguments to compare");
      }
      by = by == DuplicateBy.AUTO ? DuplicateBy.CALLER : by;
    }
    if (by != DuplicateBy.IDEMPOTENCY_KEY) {
      details.reject(
          "requireIdempotencyKey",
          "it has no effect without by = IDEMPOTENCY_KEY: set that, or remove it");
    }
    if (details.hasText(KEY)) {
      details.reject("by", "key already defines what makes submissions equal: remove one of them");
      return new Submission.ByExpression(
          SubjectSourceReader.expression(
              details,
              KEY,
              "it is the same for every call: write an expression over the arguments, such as \"#{order.number}\", or use by = CALLER"));
    }
    return switch (by) {
      case AUTO -> chosen.orElseThrow().submission();
      case CALLER -> new Submission.ByCaller();
      case ARGUMENTS -> ComparedArguments.all(details, Objects.requireNonNull(method));
      case IDEMPOTENCY_KEY ->
          new Submission.ByIdempotencyKey(!details.isFalse("requireIdempotencyKey"));
    };
  }

  private static DuplicateGuard.Release release(AnnotationMembers details) {
    boolean never = details.isFalse("releaseOnFailure");
    if (!details.has("releaseOn")) {
      return never ? new DuplicateGuard.Release.Never() : new DuplicateGuard.Release.OnFailure();
    }
    if (never) {
      throw details.error(
          "releaseOnFailure",
          false,
          "releaseOn already defines when to release: remove one of them");
    }
    return new DuplicateGuard.Release.OnStatus(
        details.statuses("releaseOn", "name statuses, or write releaseOnFailure = false instead"));
  }

  /** Finds the arguments by which submissions to a method are compared. */
  static final class ComparedArguments {

    private ComparedArguments() {}

    /**
     * What the default of duplicate.by chooses for a method.
     *
     * @param written the choice and its reason, for the log
     */
    record Choice(Submission submission, String written) {}

    /**
     * Compares all arguments that the caller provides, if there are any and JSON can represent
     * them.
     */
    static Choice choose(LimitedMethod method) {
      List<LimitedMethod.Parameter> parameters = method.parameters().orElse(List.of());
      List<Integer> filled =
          IntStream.range(0, parameters.size())
              .filter(i -> parameters.get(i).isFilled())
              .boxed()
              .toList();
      if (filled.isEmpty()) {
        return new Choice(new Submission.ByCaller(), "CALLER (the caller provides no argument)");
      }
      return filled.stream()
          .map(parameters::get)
          .flatMap(
              parameter ->
                  parameter.obstacle().stream()
                      .map(
                          part ->
                              "CALLER ('%s' cannot be compared because of %s)"
                                  .formatted(parameter.name(), part)))
          .findFirst()
          .map(reason -> new Choice(new Submission.ByCaller(), reason))
          .orElseGet(
              () ->
                  new Choice(
                      new Submission.ByArguments(filled),
                      filled.stream()
                          .map(i -> parameters.get(i).name())
                          .collect(Collectors.joining(", ", "ARGUMENTS (", ")"))));
    }

    /**
     * All arguments except the verdict and those that Kotlin adds. Rejects arguments that JSON
     * cannot represent.
     */
    static Submission.ByArguments all(AnnotationMembers limiter, LimitedMethod method) {
      Optional<List<LimitedMethod.Parameter>> known = method.parameters();
      if (known.filter(List::isEmpty).isPresent()) {
        throw limiter.error(
            "by", "ARGUMENTS", "the method has no arguments: use DuplicateBy.CALLER");
      }
      List<LimitedMethod.Parameter> parameters = known.orElse(List.of());
      List<Integer> compared =
          IntStream.range(0, parameters.size())
              .filter(i -> parameters.get(i).isCompared())
              .boxed()
              .toList();
      for (int i : compared) {
        parameters
            .get(i)
            .obstacle()
            .ifPresent(
                part -> {
                  throw limiter.error(
                      "by",
                      "ARGUMENTS",
                      "the parameter '%s' cannot be digested because of %s: make it plain data or an @Introspected type, remove it from the method, or use DuplicateBy.CALLER"
                          .formatted(parameters.get(i).name(), part));
                });
      }
      return new Submission.ByArguments(compared);
    }
  }
}
