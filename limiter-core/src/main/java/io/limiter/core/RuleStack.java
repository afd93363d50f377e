// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The rules that count one subject together: they share its state and are decided at once.
 * Immutable; made once for each policy, so that a store can prepare for it.
 */
public final class RuleStack {

  /** The most rules in one stack. */
  public static final int MAX_RULES = 8;

  private final List<Rule> rules;
  private final Optional<Ban> ban;
  private final int hash;

  private RuleStack(List<Rule> rules, Optional<Ban> ban) {
    this.rules = rules;
    this.ban = ban;
    this.hash = 31 * rules.hashCode() + ban.hashCode();
  }

  /**
   * A stack of 1 to {@value #MAX_RULES} rules in the order in which they are reported.
   *
   * @throws IllegalArgumentException if there are none or too many, or if two of them have one name
   */
  public static RuleStack of(List<? extends Rule> rules) {
    if (rules.isEmpty() || rules.size() > MAX_RULES) {
      throw new IllegalArgumentException(
          "%d rules in one stack: give it 1 to %d".formatted(rules.size(), MAX_RULES));
    }
    Set<String> names = new HashSet<>();
    for (Rule rule : rules) {
      if (!names.add(rule.name())) {
        throw new IllegalArgumentException(
            "Two rules of one stack are named '%s': remove one of them, or give it a name of its own"
                .formatted(rule.name()));
      }
    }
    return new RuleStack(List.copyOf(rules), Optional.empty());
  }

  /** The same rules, with a ban for whom they refuse too often. */
  public RuleStack withBan(Ban other) {
    return new RuleStack(rules, Optional.of(other));
  }

  /** The rules, in the order in which they are reported. */
  public List<Rule> rules() {
    return rules;
  }

  /** What becomes of a subject that these rules refuse too often. */
  public Optional<Ban> ban() {
    return ban;
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || (other instanceof RuleStack stack
            && hash == stack.hash
            && rules.equals(stack.rules)
            && ban.equals(stack.ban));
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return rules + ban.map(known -> ", " + known).orElse("");
  }
}
