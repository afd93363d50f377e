// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.exception.DenialText;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * How one method is limited.
 *
 * @param method the method's class, name and parameter types
 * @param policy its rules
 * @param subject who is counted, if the request tells
 * @param expression whether the arguments tell who is counted, instead
 * @param duplicateBy what makes submissions the same; only if the policy has a duplicate guard
 * @param text what a refused caller is answered
 * @param releaseOnFailure whether a failed submission may be repeated at once
 */
public record LimitPlan(
    String method,
    Policy policy,
    LimitType subject,
    boolean expression,
    Optional<DuplicateBy> duplicateBy,
    DenialText text,
    boolean releaseOnFailure) {

  /**
   * Whether the request alone decides, so that the gate can, before arguments are bound and the
   * body is read.
   */
  public boolean decidedByRequest() {
    return !expression && !digestsArguments();
  }

  /** Whether the method's arguments tell submissions apart. */
  public boolean digestsArguments() {
    return duplicateBy.filter(DuplicateBy.ARGUMENTS::equals).isPresent();
  }

  /** Releases the duplicate guard of a call that failed, if this plan says so. Never fails. */
  public CompletionStage<Void> release(Verdict verdict) {
    return releaseOnFailure && policy.duplicates().isPresent()
        ? verdict.receipt().release().handle((units, failure) -> null)
        : CompletableFuture.completedFuture(null);
  }

  /**
   * What is asked of the store for one call.
   *
   * @param caller whom the rules count
   * @param submitter whose submission it is: where everybody is counted as one, each caller's
   *     submissions are still his own
   * @param content what tells submissions of one caller to one method apart; empty if nothing does
   */
  public LimitRequest request(Subject caller, Subject submitter, String content) {
    // No method's description has a line break, so no content can make one look like another.
    return policy.duplicates().isPresent()
        ? LimitRequest.of(policy, caller, submitter, method + '\n' + content)
        : LimitRequest.of(policy, caller);
  }
}
