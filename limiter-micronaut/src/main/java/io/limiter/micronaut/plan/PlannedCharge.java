// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import java.util.Optional;

/**
 * Rules of a method that count the same calls of one subject under one limit.
 *
 * @param limit what is limited
 * @param source who is counted
 * @param rules the rules
 * @param anonymousRules the rules for a caller whom the source cannot tell
 * @param cost what a call takes from each rule
 * @param actualCost tells what it has cost in the end; empty if that is the same
 */
@Internal
public record PlannedCharge(
    String limit,
    SubjectSource source,
    RuleStack rules,
    RuleStack anonymousRules,
    Cost cost,
    Optional<ActualCost> actualCost) {

  RuleStack rules(boolean anonymous) {
    return anonymous ? anonymousRules : rules;
  }
}
