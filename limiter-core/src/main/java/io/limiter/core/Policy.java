// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * The named stack of rules on one limit key, with or without a duplicate guard.
 *
 * <pre>{@code
 * Policy sms = Policy.of("sms", SlidingWindowLogRule.of(1, ofMinutes(1)), SlidingWindowLogRule.of(10, ofHours(1)));
 * }</pre>
 *
 * @param name the name of the policy in messages, metrics and configuration
 * @param limit the limit key; policies with the same limit key count the same calls
 * @param stacks the rules: those that count one subject together form one stack; empty only if
 *     there is a duplicate guard
 * @param duplicates the rule of the duplicate guard: how many equal submissions are accepted within
 *     its window
 * @param parts the names of the policies that decide together. The deadline, the fallback and the
 *     deny cache are configured by these names: the shortest deadline and the strictest fallback
 *     apply, and the deny cache answers only if all of them allow it. Only the policy's own name,
 *     unless {@link LimitRequest#and} has joined it with others
 * @param codeNames maps the names of rules to their names in code, for rules whose name is derived
 *     from configured numbers; an override of a subject finds a rule by either name
 * @param others the rules that other calls of the same subjects have, such as those of another
 *     tier; they decide no call of this policy, but {@link Limiter#reset} and {@link
 *     Limiter#liftBans} find what they have stored
 */
public record Policy(
    String name,
    String limit,
    List<RuleStack> stacks,
    Optional<RuleStack> duplicates,
    List<String> parts,
    Map<String, String> codeNames,
    List<RuleStack> others) {

  public Policy {
    stacks = List.copyOf(stacks);
    parts = List.copyOf(parts);
    codeNames = Map.copyOf(codeNames);
    others = List.copyOf(others);
    if (name.isBlank() || limit.isBlank()) {
      throw new IllegalArgumentException(
          "A policy needs a name and a limit, but they are '%s' and '%s'".formatted(name, limit));
    }
    if (stacks.isEmpty() && duplicates.isEmpty()) {
      throw new IllegalArgumentException(
          "The policy '%s' has neither rules nor a duplicate guard: add one of them"
              .formatted(name));
    }
    if (duplicates.isPresent() && duplicates.get().rules().size() != 1) {
      throw new IllegalArgumentException(
          "The duplicate guard of the policy '%s' has %s rules: use exactly one"
              .formatted(name, duplicates.get().rules().size()));
    }
    if (duplicates.isPresent() && duplicates.get().ban().isPresent()) {
      throw new IllegalArgumentException(
          "The duplicate guard of the policy '%s' has a ban: remove it, since a duplicate is no violation"
              .formatted(name));
    }
    if (duplicates.isPresent()
        && (duplicates.get().permitDuration().isPresent()
            || duplicates.get().counting() != Counting.ALL)) {
      throw new IllegalArgumentException(
          "The duplicate guard of the policy '%s' is %s: use a rule that counts every submission; one that fails is released"
              .formatted(name, duplicates.get()));
    }
    if (duplicates.isPresent() && duplicates.get().waiting().isPresent()) {
      throw new IllegalArgumentException(
          "The duplicate guard of the policy '%s' has the rule '%s', which makes calls wait: use a sliding window log"
              .formatted(name, duplicates.get().waiting().get().name()));
    }
  }

  /** Creates a policy that decides by itself. */
  public Policy(String name, String limit, List<RuleStack> stacks, Optional<RuleStack> duplicates) {
    this(name, limit, stacks, duplicates, List.of(name), Map.of(), List.of());
  }

  /** Uses only the names: few policies share both, and hashing all rules takes time. */
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
   * Returns a policy with the name and limit key of this one, the rules and parts of both, and the
   * duplicate guard of either.
   */
  public Policy and(Policy other) {
    List<RuleStack> both = new ArrayList<>(stacks);
    both.addAll(other.stacks);
    Map<String, String> names = new HashMap<>(other.codeNames);
    names.putAll(codeNames);
    return new Policy(
        name,
        limit,
        both,
        duplicates.or(other::duplicates),
        Stream.concat(parts.stream(), other.parts.stream()).distinct().toList(),
        names,
        Stream.concat(others.stream(), other.others.stream()).distinct().toList());
  }

  /** Returns this policy with a duplicate guard. */
  public Policy withDuplicates(Rule rule) {
    return new Policy(
        name, limit, stacks, Optional.of(RuleStack.of(List.of(rule))), parts, codeNames, others);
  }

  /** Returns this policy under another name, such as the name of the part that denies a call. */
  public Policy withName(String other) {
    return new Policy(other, limit, stacks, duplicates, parts, codeNames, others);
  }

  /** Returns this policy with other stacks; for authors of stores. */
  public Policy withStacks(List<RuleStack> changed) {
    return new Policy(name, limit, changed, duplicates, parts, codeNames, others);
  }

  /**
   * Returns this policy with a ban for subjects that its rules deny too often.
   *
   * @throws IllegalStateException if it has no rules
   */
  public Policy withBan(BanRule ban) {
    return withStacks(
        stack -> stack.withBan(ban),
        "The policy '%s' has no rules that could be violated: add rules, or remove the ban"
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
        "The policy '%s' has no rules that could count %s: add rules".formatted(name, counting));
  }

  /**
   * Returns this policy with a share of each rule's capacity from which on it is near its limit.
   *
   * @param share above 0 to 1; 0 for none
   * @throws IllegalStateException if it has no rules
   * @throws IllegalArgumentException if it is no such share
   * @see Verdict#nearLimit
   */
  public Policy withWarnAt(double share) {
    return withStacks(
        stack -> stack.withWarnAt(share),
        "The policy '%s' has no rules that could come near a limit: add rules".formatted(name));
  }

  private Policy withStacks(UnaryOperator<RuleStack> change, String none) {
    if (stacks.isEmpty()) {
      throw new IllegalStateException(none);
    }
    return withStacks(stacks.stream().map(change).toList());
  }
}
