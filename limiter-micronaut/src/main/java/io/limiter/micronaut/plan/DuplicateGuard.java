// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.RuleStack;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.subject.SubjectSource;

/**
 * How a method refuses submissions that were accepted a moment ago.
 *
 * @param limit what is limited: submissions live beside the rules of that limit
 * @param submitter whose submission a call is
 * @param stack how many equal submissions are accepted in which time
 * @param submission what makes submissions equal
 * @param release after which failures a submission may be made again
 * @param text what the caller of a duplicate is answered
 */
record DuplicateGuard(
    String limit,
    SubjectSource submitter,
    RuleStack stack,
    Submission submission,
    Release release,
    DenialText text) {}
