// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.Submission;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;

/** Reads the duplicate guard of a method. */
@Singleton
final class DuplicateGuardReader {

  /** Members that have no effect unless duplicates are denied. */
  private static final List<String> DETAILS =
      List.of(
          "preventDuplicateRule",
          "duplicateBy",
          "duplicateKey",
          "requireIdempotencyKey",
          "releaseOnFailure",
          "releaseOn",
          "duplicateStatus",
          "duplicateCode",
          "duplicateMessage");

  private final RateRuleReader rules;
  private final DenialTextReader texts;
  private final ComparedArguments arguments;

  DuplicateGuardReader(RateRuleReader rules, DenialTextReader texts, ComparedArguments arguments) {
    this.rules = rules;
    this.texts = texts;
    this.arguments = arguments;
  }

  /** Rejects details of a guard in an annotation without one. */
  static void rejectDetails(AnnotationMembers limiter) {
    for (String member : DETAILS) {
      limiter.reject(
          member, "it has no effect without preventDuplicate = true: set that, or remove it");
    }
  }

  DuplicateGuard read(
      AnnotationMembers limiter,
      String limit,
      SubjectSource source,
      ExecutableMethod<?, ?> method) {
    Optional<ComparedArguments.Choice> chosen =
        by(limiter) == DuplicateBy.AUTO && !limiter.hasText("duplicateKey")
            ? Optional.of(arguments.choose(method))
            : Optional.empty();
    return new DuplicateGuard(
        limit,
        source.submitter(),
        RuleStack.of(List.of(rule(limiter))),
        submission(limiter, method, chosen),
        chosen.map(ComparedArguments.Choice::written),
        release(limiter),
        texts.duplicate(limiter));
  }

  private static DuplicateBy by(AnnotationMembers limiter) {
    return limiter.constant("duplicateBy", DuplicateBy.class).orElse(DuplicateBy.AUTO);
  }

  private Rule rule(AnnotationMembers limiter) {
    return limiter
        .annotation()
        .getAnnotation("preventDuplicateRule", RateRule.class)
        .map(
            rule ->
                rules.readDuplicate(
                    new AnnotationMembers(
                        limiter.method(), limiter.name() + ".preventDuplicateRule", rule)))
        .orElseGet(rules::defaultDuplicateRule);
  }

  private Submission submission(
      AnnotationMembers limiter,
      ExecutableMethod<?, ?> method,
      Optional<ComparedArguments.Choice> chosen) {
    DuplicateBy by = by(limiter);
    if (by != DuplicateBy.IDEMPOTENCY_KEY) {
      limiter.reject(
          "requireIdempotencyKey",
          "it has no effect without duplicateBy = IDEMPOTENCY_KEY: set that, or remove it");
    }
    if (limiter.hasText("duplicateKey")) {
      limiter.reject(
          "duplicateBy",
          "duplicateKey already defines what makes submissions equal: remove one of them");
      return new Submission.ByExpression(
          SubjectSourceReader.expression(
              limiter,
              "duplicateKey",
              "it is the same for every call: write an expression over the arguments, such as \"#{order.number}\", or use duplicateBy = CALLER"));
    }
    return switch (by) {
      case AUTO -> chosen.orElseThrow().submission();
      case CALLER -> new Submission.ByCaller();
      case ARGUMENTS -> arguments.all(limiter, method);
      case IDEMPOTENCY_KEY ->
          new Submission.ByIdempotencyKey(!limiter.isFalse("requireIdempotencyKey"));
    };
  }

  private static DuplicateGuard.Release release(AnnotationMembers limiter) {
    boolean never = limiter.isFalse("releaseOnFailure");
    if (!limiter.has("releaseOn")) {
      return never ? new DuplicateGuard.Release.Never() : new DuplicateGuard.Release.OnFailure();
    }
    if (never) {
      throw limiter.error(
          "releaseOnFailure",
          false,
          "releaseOn already defines when to release: remove one of " + "them");
    }
    return new DuplicateGuard.Release.OnStatus(
        FailedOnReader.StatusList.read(
            limiter, "releaseOn", "name statuses, or write releaseOnFailure = false instead"));
  }
}
