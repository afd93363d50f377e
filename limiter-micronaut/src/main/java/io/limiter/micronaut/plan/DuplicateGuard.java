// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import java.util.Optional;

/**
 * How a method refuses submissions that were accepted a moment ago.
 *
 * @param limit what is limited: submissions live beside the rules of that limit
 * @param submitter whose submission a call is
 * @param stack how many equal submissions are accepted in which time
 * @param submission what makes submissions equal
 * @param chosen what the default of duplicateBy chose, and why, for the log; empty if the
 *     annotation chooses
 * @param release after which failures a submission may be made again
 * @param text what the caller of a duplicate is answered
 */
@Internal
public record DuplicateGuard(
    String limit,
    SubjectSource submitter,
    RuleStack stack,
    Submission submission,
    Optional<String> chosen,
    GuardRelease release,
    DenialText text) {

  /** The same guard before security, where no default can compare arguments. */
  public DuplicateGuard beforeSecurity() {
    return chosen.isEmpty()
        ? this
        : new DuplicateGuard(
            limit,
            submitter,
            stack,
            new Submission.ByCaller(),
            Optional.of("CALLER (beforeSecurity = true)"),
            release,
            text);
  }
}
