// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.Rule;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Gives each rule of a method a unique name, since names distinguish the rules in header fields and
 * bodies. A name that is derived from the numbers gets a suffix, such as {@code 10-per-60s-2}.
 */
final class RuleNames {

  private final Map<String, Rule> taken = new HashMap<>();

  /** The rule with a unique name; empty if its name was written for another rule. */
  Optional<Rule> distinct(Rule rule, boolean named) {
    Rule distinct = rule;
    for (int i = 2; taken.containsKey(distinct.name()); i++) {
      if (named) {
        return Optional.empty();
      }
      distinct = rule.withName(rule.name() + '-' + i);
    }
    taken.put(distinct.name(), distinct);
    return Optional.of(distinct);
  }
}
