// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.plan.CompletionPlan;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads which completions count as failures. All annotations of one method must agree, since a call
 * either fails or does not.
 */
final class FailedOnReader {

  private static final String MEMBER = "failedOn";
  private static final String DEFAULT = "{}";

  private CompletionPlan.@Nullable Failure failure;

  /**
   * Adds the setting of one annotation.
   *
   * @param byOutcome whether it has a rule that depends on it
   */
  void add(AnnotationMembers limiter, boolean byOutcome) {
    if (!byOutcome) {
      limiter.reject(
          MEMBER,
          "it has no effect without a rule with counts = FAILURES or SUCCESSES: add one, or remove it");
      return;
    }
    CompletionPlan.Failure written = read(limiter);
    if (failure != null && !failure.equals(written)) {
      throw limiter.error(
          MEMBER,
          text(written),
          "another @RateLimiter of this method has failedOn = %s, and a call either fails or does not: give both the same"
              .formatted(text(failure)));
    }
    failure = written;
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

  /** Reads lists of statuses that count as failures. */
  static final class StatusList {

    private StatusList() {}

    /**
     * The statuses of a member, 400 to 599.
     *
     * @param ifEmpty the remedy for an empty list
     */
    static Set<Integer> read(AnnotationMembers limiter, String member, String ifEmpty) {
      int[] statuses = limiter.numbers(member);
      if (statuses.length == 0) {
        throw limiter.error(member, "{}", ifEmpty);
      }
      for (int status : statuses) {
        if (status < 400 || status > 599) {
          throw limiter.error(member, status, "give it error statuses, 400 to 599");
        }
      }
      return Arrays.stream(statuses).boxed().collect(Collectors.toCollection(TreeSet::new));
    }
  }
}
