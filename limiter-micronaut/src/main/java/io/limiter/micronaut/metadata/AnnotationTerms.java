// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.BanRule;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.ActualCost;
import io.limiter.micronaut.plan.Cost;
import java.util.Optional;

/**
 * The settings of one annotation for all its rules.
 *
 * @param limiter the annotation, for messages
 * @param text the response to calls that one of the rules denies
 * @param cost the units that a call takes from each rule except concurrency limits
 * @param actualCost computes the actual cost when the call ends
 * @param ban the ban of subjects that are denied too often
 */
record AnnotationTerms(
    AnnotationMembers limiter,
    DenialText text,
    Cost cost,
    Optional<ActualCost> actualCost,
    Optional<BanRule> ban) {}
