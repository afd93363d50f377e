// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import jakarta.inject.Singleton;

/** Who reads the parts of an annotation. */
@Singleton
record PlanReaders(
    RateRuleReader rules,
    SubjectSourceReader subjects,
    DenialTextReader texts,
    CostReader costs,
    BanReader bans,
    DuplicateGuardReader guards) {}
