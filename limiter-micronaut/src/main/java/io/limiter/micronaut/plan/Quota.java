// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.RuleStack;
import io.limiter.micronaut.subject.SubjectSource;

/**
 * Rules of a method that count one subject under one limit.
 *
 * @param limit what is limited
 * @param source who is counted
 * @param rules the rules
 * @param anonymousRules the rules for a caller whom the source cannot tell
 * @param cost what a call takes from each rule
 */
record Quota(
    String limit, SubjectSource source, RuleStack rules, RuleStack anonymousRules, Cost cost) {

  RuleStack rules(boolean anonymous) {
    return anonymous ? anonymousRules : rules;
  }
}
