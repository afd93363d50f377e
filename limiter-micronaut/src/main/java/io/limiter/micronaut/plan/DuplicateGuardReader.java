// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Rule;
import io.limiter.core.RuleStack;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.subject.DigestibleTypes;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.type.Argument;
import jakarta.inject.Singleton;
import java.util.List;

/** Reads how a method refuses duplicates. */
@Singleton
final class DuplicateGuardReader {

  /** Members that say how, and have no sense unless duplicates are refused. */
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

  DuplicateGuardReader(RateRuleReader rules, DenialTextReader texts) {
    this.rules = rules;
    this.texts = texts;
  }

  /** Refuses details of a guard in an annotation that asks for none. */
  static void refuseDetails(Members limiter) {
    for (String member : DETAILS) {
      limiter.refuse(
          member, "it has no sense without preventDuplicate = true: set that, or remove it");
    }
  }

  DuplicateGuard read(
      Members limiter, String limit, SubjectSource source, Argument<?>[] arguments) {
    return new DuplicateGuard(
        limit,
        source.submitter(),
        RuleStack.of(List.of(rule(limiter))),
        submission(limiter, arguments),
        release(limiter),
        texts.duplicate(limiter));
  }

  private Rule rule(Members limiter) {
    return limiter
        .annotation()
        .getAnnotation("preventDuplicateRule", RateRule.class)
        .map(
            rule ->
                rules.readDuplicate(
                    new Members(limiter.method(), limiter.name() + ".preventDuplicateRule", rule)))
        .orElseGet(rules::defaultDuplicateRule);
  }

  private static Submission submission(Members limiter, Argument<?>[] arguments) {
    DuplicateBy by = limiter.constant("duplicateBy", DuplicateBy.class).orElse(DuplicateBy.CALLER);
    if (by != DuplicateBy.IDEMPOTENCY_KEY) {
      limiter.refuse(
          "requireIdempotencyKey",
          "it has no sense without duplicateBy = IDEMPOTENCY_KEY: set that, or remove it");
    }
    if (limiter.says("duplicateKey")) {
      limiter.refuse(
          "duplicateBy",
          "duplicateKey says already what makes submissions equal: remove one of them");
      return new Submission.ByExpression(
          SubjectSourceReader.expression(
              limiter,
              "duplicateKey",
              "it is the same for every call: write an expression over the arguments, such as \"#{order.number}\", or use duplicateBy = CALLER"));
    }
    return switch (by) {
      case CALLER -> new Submission.ByCaller();
      case ARGUMENTS -> {
        requireDigestible(limiter, arguments);
        yield new Submission.ByArguments();
      }
      case IDEMPOTENCY_KEY ->
          new Submission.ByIdempotencyKey(!limiter.isFalse("requireIdempotencyKey"));
    };
  }

  private static void requireDigestible(Members limiter, Argument<?>[] arguments) {
    if (arguments.length == 0) {
      throw limiter.error(
          "duplicateBy", "ARGUMENTS", "the method has no arguments: use DuplicateBy.CALLER");
    }
    for (Argument<?> argument : arguments) {
      if (VerdictArguments.takesVerdict(argument)) {
        continue;
      }
      DigestibleTypes.indigestiblePart(argument)
          .ifPresent(
              part -> {
                throw limiter.error(
                    "duplicateBy",
                    "ARGUMENTS",
                    "the parameter '%s' cannot be digested because of %s: make it plain data or an @Introspected type, take it out of the method, or use DuplicateBy.CALLER"
                        .formatted(argument.getName(), part));
              });
    }
  }

  private static Release release(Members limiter) {
    boolean never = limiter.isFalse("releaseOnFailure");
    if (!limiter.has("releaseOn")) {
      return never ? new Release.Never() : new Release.OnFailure();
    }
    if (never) {
      throw limiter.error(
          "releaseOnFailure", false, "releaseOn says when to release: remove one of them");
    }
    return new Release.OnStatus(
        Statuses.read(
            limiter, "releaseOn", "name statuses, or write releaseOnFailure = false instead"));
  }
}
