// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.CompletionPlan.ActualCost;
import io.limiter.micronaut.plan.Condition;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PlannedCharge.Cost;
import io.limiter.micronaut.subject.CallExpression;
import io.limiter.micronaut.subject.SubjectSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Collects the rules of one method from all places. Rules that count the same calls of one subject
 * under one limit key share its state, so they form one stack.
 */
final class ChargePlanner {

  /**
   * One key in the store.
   *
   * @param subjects who is counted, irrespective of how calls without a subject are limited
   * @param kind the kind of calls that are counted
   */
  private record Owner(String limit, SubjectSource subjects, PlannedCharge.CountedCalls kind) {}

  private record Price(Cost cost, Optional<ActualCost> actual) {

    /** A call in flight takes one permit. */
    static final Price ONE = new Price(Cost.ONE, Optional.empty());

    @Override
    public String toString() {
      return cost + actual.map(bean -> ", resultCost = " + bean).orElse("");
    }
  }

  private record RulesOfOwner(List<Rule> known, List<Rule> anonymous) {}

  private final String method;
  private final Map<Owner, RulesOfOwner> byOwner = new LinkedHashMap<>();
  private final Set<Owner> denyingAnonymous = new HashSet<>();
  private final Map<Owner, Price> prices = new HashMap<>();
  private final Map<Owner, BanRule> bans = new HashMap<>();
  private final Map<Owner, Optional<Condition>> conditions = new HashMap<>();
  private final Map<String, List<CallExpression>> expressions = new HashMap<>();
  private final Map<String, DenialText> texts = new HashMap<>();
  private final RuleNames names = new RuleNames();

  ChargePlanner(String method) {
    this.method = method;
  }

  /** The index of an expression among those of one limit; equal expressions have the same index. */
  int ordinal(String limit, CallExpression expression) {
    List<CallExpression> ordered = expressions.computeIfAbsent(limit, any -> new ArrayList<>());
    if (!ordered.contains(expression)) {
      ordered.add(expression);
    }
    return ordered.indexOf(expression);
  }

  /**
   * Adds the rules of one annotation for one subject. A rule that is already present counts once.
   * Calls without a subject are denied if any annotation denies them.
   *
   * @param known the rules for calls with a subject
   * @param anonymous the rules for calls without one
   * @param values the annotation's settings for all of them
   */
  void add(
      String limit,
      SubjectSource source,
      List<RateRuleReader.Read> known,
      List<RateRuleReader.Read> anonymous,
      AnnotationValues values) {
    Map<PlannedCharge.CountedCalls, List<RateRuleReader.Read>> anonymousByKind = byKind(anonymous);
    Map<PlannedCharge.CountedCalls, List<RateRuleReader.Read>> knownByKind = byKind(known);
    if (!knownByKind.keySet().equals(anonymousByKind.keySet())) {
      throw values
          .limiter()
          .error(
              "anonymousRules",
              anonymous.stream().map(each -> each.rule().name()).toList(),
              "they replace the rules but count other calls: let both count the same kinds of calls (all, failures, successes, in flight, waiting)");
    }
    knownByKind.forEach(
        (kind, rules) ->
            add(limit, source, kind, rules, anonymousByKind.getOrDefault(kind, List.of()), values));
  }

  /** In the order in which the kinds first occur. */
  private static Map<PlannedCharge.CountedCalls, List<RateRuleReader.Read>> byKind(
      List<RateRuleReader.Read> rules) {
    Map<PlannedCharge.CountedCalls, List<RateRuleReader.Read>> kinds = new LinkedHashMap<>();
    for (RateRuleReader.Read rule : rules) {
      kinds.computeIfAbsent(rule.kind(), any -> new ArrayList<>()).add(rule);
    }
    return kinds;
  }

  private void add(
      String limit,
      SubjectSource source,
      PlannedCharge.CountedCalls kind,
      List<RateRuleReader.Read> known,
      List<RateRuleReader.Read> anonymous,
      AnnotationValues values) {
    Owner owner = new Owner(limit, source.withAnonymous(Anonymous.ADDRESS), kind);
    if (source.anonymous() == Anonymous.REJECT) {
      denyingAnonymous.add(owner);
    }
    agree(owner, values);
    RulesOfOwner rules =
        byOwner.computeIfAbsent(
            owner, any -> new RulesOfOwner(new ArrayList<>(), new ArrayList<>()));
    Map<RateRuleReader.Read, Rule> named = new HashMap<>();
    put(known, rules.known, named, values.text());
    put(anonymous, rules.anonymous, named, values.text());
  }

  /** Each key is charged once and has one kind of ban, so all annotations must agree on them. */
  private void agree(Owner owner, AnnotationValues values) {
    Optional<Condition> condition = conditions.putIfAbsent(owner, values.condition());
    if (condition != null && !condition.equals(values.condition())) {
      throw values
          .limiter()
          .error(
              "condition",
              values.condition().map(Object::toString).orElse(""),
              "another @RateLimiter of this method counts the same subject under the same key with condition = \"%s\": give both the same condition, or other keys"
                  .formatted(condition.map(Object::toString).orElse("")));
    }
    if (owner.kind == PlannedCharge.CountedCalls.IN_FLIGHT) {
      return;
    }
    Price own = new Price(values.cost(), values.actualCost());
    Price other = prices.putIfAbsent(owner, own);
    if (other != null && !other.equals(own)) {
      throw values
          .limiter()
          .error(
              "cost",
              own,
              "other rules of this method count the same subject with cost = %s: give all of them one cost, or some of them their own key"
                  .formatted(other));
    }
    if (values.ban().isPresent() && RateLimiterReader.canBan(owner.subjects)) {
      BanRule ban = bans.putIfAbsent(owner, values.ban().get());
      if (ban != null && !ban.equals(values.ban().get())) {
        throw values
            .limiter()
            .error(
                "ban",
                RateLimiterReader.text(values.ban().get()),
                "another @RateLimiter of this method has ban = %s for the same subject: give both the same ban, or one of them its own key"
                    .formatted(RateLimiterReader.text(ban)));
      }
    }
  }

  private void put(
      List<RateRuleReader.Read> added,
      List<Rule> to,
      Map<RateRuleReader.Read, Rule> named,
      DenialText text) {
    for (RateRuleReader.Read read : added) {
      Rule rule = named.get(read);
      if (rule == null) {
        if (to.contains(read.rule())) {
          continue;
        }
        rule =
            names
                .distinct(read.rule(), read.named())
                .orElseThrow(
                    () ->
                        AnnotationMembers.mistake(
                            method,
                            "@RateRule.name",
                            read.rule().name(),
                            "another rule of this method has this name: give it another name"));
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

  List<PlannedCharge> charges() {
    List<PlannedCharge> built = new ArrayList<>();
    byOwner.forEach(
        (owner, rules) -> {
          Price price = prices.getOrDefault(owner, Price.ONE);
          built.add(
              new PlannedCharge(
                  owner.limit,
                  source(owner),
                  stack(owner, rules.known),
                  stack(owner, rules.anonymous),
                  price.cost,
                  price.actual,
                  conditions.getOrDefault(owner, Optional.empty())));
        });
    requireOneThatWaits(built);
    return List.copyOf(built);
  }

  /** The stack itself checks the rules of one subject; this checks those of several subjects. */
  private void requireOneThatWaits(List<PlannedCharge> built) {
    List<String> waiting =
        built.stream()
            .flatMap(planned -> planned.rules().waiting().stream())
            .map(Rule::name)
            .toList();
    if (waiting.size() > 1) {
      throw AnnotationMembers.mistake(
          method,
          "@RateRule.leakyBucket",
          waiting.toString(),
          "a call can wait under one rule only, since calls that leave one queue would reach the next in any order: keep one of them, and use other algorithms for the rest");
    }
  }

  private SubjectSource source(Owner owner) {
    return denyingAnonymous.contains(owner)
        ? owner.subjects.withAnonymous(Anonymous.REJECT)
        : owner.subjects;
  }

  /** The responses of denials, by the name of the rule that denies. */
  Map<String, DenialText> texts() {
    return Map.copyOf(texts);
  }

  private RuleStack stack(Owner owner, List<Rule> rules) {
    try {
      RuleStack stack = RuleStack.of(rules).withCounting(owner.kind.counting());
      BanRule ban = bans.get(owner);
      return ban == null ? stack : stack.withBan(ban);
    } catch (IllegalArgumentException e) {
      throw AnnotationMembers.mistake(
          method,
          "@RateRule",
          rules.stream().map(Rule::name).toList().toString(),
          String.valueOf(e.getMessage()));
    }
  }

  /**
   * The settings of one annotation for all its rules.
   *
   * @param limiter the annotation, for messages
   * @param text the response to calls that one of the rules denies
   * @param cost the units that a call takes from each rule except concurrency limits
   * @param actualCost computes the actual cost when the call ends
   * @param ban the ban of subjects that are denied too often
   * @param condition selects the calls that are charged
   */
  record AnnotationValues(
      AnnotationMembers limiter,
      DenialText text,
      Cost cost,
      Optional<ActualCost> actualCost,
      Optional<BanRule> ban,
      Optional<Condition> condition) {}

  /**
   * Gives each rule of a method a unique name, since names distinguish the rules in header fields
   * and bodies. A name that is derived from the numbers gets a suffix, such as {@code
   * 10-per-60s-2}.
   */
  static final class RuleNames {

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
}
