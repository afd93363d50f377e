// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * The named stack of rules on one limit key, with or without a duplicate guard.
 *
 * <pre>{@code
 * Policy sms = Policy.of("sms", SlidingWindowLog.of(1, ofMinutes(1)), SlidingWindowLog.of(10, ofHours(1)));
 * }</pre>
 *
 * @param name the name of the policy in messages, metrics and configuration
 * @param limit the limit key; policies with the same limit key count the same calls
 * @param stacks the rules: those that count one subject together form one stack; empty only if
 *     there is a duplicate guard
 * @param duplicates the rule of the duplicate guard: how many equal submissions are accepted within
 *     its window
 */
public record Policy(
    String name, String limit, List<RuleStack> stacks, Optional<RuleStack> duplicates) {

  public Policy {
    stacks = List.copyOf(stacks);
    if (name.isBlank() || limit.isBlank()) {
      throw new IllegalArgumentException(
          "A policy needs a name and a limit, but they are '%s' and '%s'".formatted(name, limit));
    }
    if (stacks.isEmpty() && duplicates.isEmpty()) {
      throw new IllegalArgumentException(
          "The policy '%s' has neither rules nor a duplicate guard: give it one of them"
              .formatted(name));
    }
    if (duplicates.isPresent() && duplicates.get().rules().size() != 1) {
      throw new IllegalArgumentException(
          "The duplicate guard of the policy '%s' has %d rules: give it one"
              .formatted(name, duplicates.get().rules().size()));
    }
    if (duplicates.isPresent() && duplicates.get().ban().isPresent()) {
      throw new IllegalArgumentException(
          "The duplicate guard of the policy '%s' has a ban: give it none, a duplicate is no violation"
              .formatted(name));
    }
    if (duplicates.isPresent()
        && (duplicates.get().permitDuration().isPresent()
            || duplicates.get().counting() != Counting.ALL)) {
      throw new IllegalArgumentException(
          "The duplicate guard of the policy '%s' is %s: give it a rule that counts every submission; one that fails is released"
              .formatted(name, duplicates.get()));
    }
    if (duplicates.isPresent() && duplicates.get().waiting().isPresent()) {
      throw new IllegalArgumentException(
          "The duplicate guard of the policy '%s' has the rule '%s', which makes calls wait: give it a sliding window log"
              .formatted(name, duplicates.get().waiting().get().name()));
    }
  }

  /** By the names alone: policies that share both are few, and a hash of all rules takes time. */
  @Override
  public int hashCode() {
    return 31 * name.hashCode() + limit.hashCode();
  }

  /** Returns a policy whose limit key is its name. */
  public static Policy of(String name, Rule... rules) {
    return new Policy(name, name, List.of(RuleStack.of(List.of(rules))), Optional.empty());
  }

  /** The rules of all stacks, in the order in which they are reported. */
  public List<Rule> rules() {
    return stacks.stream().flatMap(stack -> stack.rules().stream()).toList();
  }

  /**
   * Returns a policy with the name and limit key of this one, the rules of both, and the duplicate
   * guard of either.
   */
  Policy and(Policy other) {
    List<RuleStack> both = new ArrayList<>(stacks);
    both.addAll(other.stacks);
    return new Policy(name, limit, both, duplicates.or(other::duplicates));
  }

  /** Returns this policy with a duplicate guard. */
  public Policy withDuplicates(Rule rule) {
    return new Policy(name, limit, stacks, Optional.of(RuleStack.of(List.of(rule))));
  }

  /**
   * Returns this policy with a ban for subjects that its rules deny too often.
   *
   * @throws IllegalStateException if it has no rules
   */
  public Policy withBan(BanRule ban) {
    return withStacks(
        stack -> stack.withBan(ban),
        "The policy '%s' has no rules that could be violated: give it rules, or no ban"
            .formatted(name));
  }

  /**
   * Returns this policy with rules that count only these calls.
   *
   * @throws IllegalStateException if it has no rules
   * @throws IllegalArgumentException if its rules cannot count by outcome, see {@link
   *     RuleStack#withCounting}
   */
  public Policy withCounting(Counting counting) {
    return withStacks(
        stack -> stack.withCounting(counting),
        "The policy '%s' has no rules that could count %s: give it rules"
            .formatted(name, counting));
  }

  private Policy withStacks(UnaryOperator<RuleStack> change, String none) {
    if (stacks.isEmpty()) {
      throw new IllegalStateException(none);
    }
    return new Policy(name, limit, stacks.stream().map(change).toList(), duplicates);
  }
}
