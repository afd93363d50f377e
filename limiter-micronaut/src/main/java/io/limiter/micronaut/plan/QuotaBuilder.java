// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Rule;
import io.limiter.core.RuleStack;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.subject.CallExpression;
import io.limiter.micronaut.subject.SubjectSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Collects the rules of one method, from all places where they stand: those that count one subject
 * under one limit share its state, so they come together in one stack.
 */
final class QuotaBuilder {

  /**
   * One key in the store.
   *
   * @param subjects who is counted, whatever becomes of callers whom it cannot tell
   */
  private record Owner(String limit, SubjectSource subjects) {}

  private record Rules(List<Rule> told, List<Rule> anonymous) {}

  private final String method;
  private final Map<Owner, Rules> quotas = new LinkedHashMap<>();
  private final Set<Owner> refusing = new HashSet<>();
  private final Map<String, List<CallExpression>> expressions = new HashMap<>();
  private final Map<String, DenialText> texts = new HashMap<>();
  private final RuleNames names = new RuleNames();

  QuotaBuilder(String method) {
    this.method = method;
  }

  /** The place of an expression among those of one limit; equal ones have the same. */
  int ordinal(String limit, CallExpression expression) {
    List<CallExpression> known = expressions.computeIfAbsent(limit, any -> new ArrayList<>());
    if (!known.contains(expression)) {
      known.add(expression);
    }
    return known.indexOf(expression);
  }

  /**
   * Adds what one annotation says of one subject. A rule that is there already counts once. If one
   * annotation refuses callers whom the source cannot tell, they are refused.
   *
   * @param told the rules for a caller whom the source tells
   * @param anonymous the rules for another
   * @param text what a caller refused by one of them is answered
   */
  void add(
      String limit,
      SubjectSource source,
      List<RateRuleReader.Read> told,
      List<RateRuleReader.Read> anonymous,
      DenialText text) {
    if (told.isEmpty() && anonymous.isEmpty()) {
      return;
    }
    Owner owner = new Owner(limit, source.withAnonymous(Anonymous.ADDRESS));
    if (source.anonymous() == Anonymous.REFUSE) {
      refusing.add(owner);
    }
    Rules rules =
        quotas.computeIfAbsent(owner, any -> new Rules(new ArrayList<>(), new ArrayList<>()));
    Map<RateRuleReader.Read, Rule> named = new HashMap<>();
    put(told, rules.told, named, text);
    put(anonymous, rules.anonymous, named, text);
  }

  private void put(
      List<RateRuleReader.Read> added,
      List<Rule> to,
      Map<RateRuleReader.Read, Rule> named,
      DenialText text) {
    for (RateRuleReader.Read read : added) {
      Rule rule = named.get(read);
      if (rule == null) {
        if (to.stream().anyMatch(known -> known.equals(read.rule()))) {
          continue;
        }
        rule =
            names
                .distinct(read.rule(), read.named())
                .orElseThrow(
                    () ->
                        PlanErrors.of(
                            method,
                            "@RateRule.name",
                            read.rule().name(),
                            "another rule of this method has this name: give it one of its own"));
        named.put(read, rule);
        if (!text.equals(DenialText.NONE)) {
          texts.put(rule.name(), text);
        }
      }
      if (!to.contains(rule)) {
        to.add(rule);
      }
    }
  }

  List<Quota> quotas() {
    List<Quota> built = new ArrayList<>();
    quotas.forEach(
        (owner, rules) ->
            built.add(
                new Quota(owner.limit, source(owner), stack(rules.told), stack(rules.anonymous))));
    return List.copyOf(built);
  }

  private SubjectSource source(Owner owner) {
    return refusing.contains(owner)
        ? owner.subjects.withAnonymous(Anonymous.REFUSE)
        : owner.subjects;
  }

  /** What a caller is answered, by the name of the rule that refuses him. */
  Map<String, DenialText> texts() {
    return Map.copyOf(texts);
  }

  private RuleStack stack(List<Rule> rules) {
    try {
      return RuleStack.of(rules);
    } catch (IllegalArgumentException e) {
      throw PlanErrors.of(
          method,
          "@RateRule",
          rules.stream().map(Rule::name).toList().toString(),
          String.valueOf(e.getMessage()));
    }
  }
}
