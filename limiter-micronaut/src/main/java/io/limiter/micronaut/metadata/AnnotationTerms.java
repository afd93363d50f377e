// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.BanRule;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.ActualCost;
import io.limiter.micronaut.plan.Cost;
import java.util.Optional;

/**
 * What one annotation says of all its rules.
 *
 * @param limiter the annotation, for messages
 * @param text what a caller refused by one of them is answered
 * @param cost what a call takes from each that is not in flight
 * @param actualCost tells what it has cost in the end
 * @param ban what becomes of who is refused too often
 */
record AnnotationTerms(
    AnnotationMembers limiter,
    DenialText text,
    Cost cost,
    Optional<ActualCost> actualCost,
    Optional<BanRule> ban) {}
