// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.plan.CompletionPlan;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What the annotations of one method call a failure. A call fails or does not, so they agree. */
final class FailedOnReader {

  private static final String MEMBER = "failedOn";
  private static final String DEFAULT = "{}";

  private CompletionPlan.@Nullable Failure failure;

  /**
   * Adds what one annotation says.
   *
   * @param byOutcome whether it has a rule for which that makes a difference
   */
  void add(AnnotationMembers limiter, boolean byOutcome) {
    if (!byOutcome) {
      limiter.refuse(
          MEMBER,
          "it has no sense without a rule that counts = FAILURES or SUCCESSES: write that, or remove it");
      return;
    }
    CompletionPlan.Failure said = read(limiter);
    if (failure != null && !failure.equals(said)) {
      throw limiter.error(
          MEMBER,
          text(said),
          "another @RateLimiter of this method has failedOn = %s, and a call either fails or does not: give both the same"
              .formatted(text(failure)));
    }
    failure = said;
  }

  private static CompletionPlan.Failure read(AnnotationMembers limiter) {
    return limiter.has(MEMBER)
        ? new CompletionPlan.Failure(
            Optional.of(
                StatusList.read(
                    limiter,
                    MEMBER,
                    "name statuses, or remove it: then any exception is a failure, and any status of 400 and above")))
        : CompletionPlan.Failure.USUAL;
  }

  private static String text(CompletionPlan.Failure failure) {
    return failure.statuses().map(Set::toString).orElse(DEFAULT);
  }

  CompletionPlan.Failure failure() {
    return failure == null ? CompletionPlan.Failure.USUAL : failure;
  }
}
