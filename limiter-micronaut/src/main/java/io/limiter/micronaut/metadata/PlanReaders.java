// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.config.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import jakarta.inject.Singleton;

/** The readers of the parts of an annotation, and the configuration of policies and the gate. */
@Singleton
record PlanReaders(
    RateRuleReader rules,
    SubjectSourceReader subjects,
    DenialTextReader texts,
    CostReader costs,
    ActualCostReader actualCosts,
    BanReader bans,
    DuplicateGuardReader guards,
    PoliciesConfiguration policies,
    GateConfiguration gate) {}
