// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.ActualCost;
import io.limiter.micronaut.plan.Cost;
import io.limiter.micronaut.plan.PlannedCharge;
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
 * Collects the rules of one method, from all places where they stand: those that count the same
 * calls of one subject under one limit share its state, so they come together in one stack.
 */
final class ChargePlanner {

  /**
   * One key in the store.
   *
   * @param subjects who is counted, whatever becomes of callers whom it cannot tell
   * @param kind which of his calls
   */
  private record Owner(String limit, SubjectSource subjects, PlannedCharge.CountedCalls kind) {}

  private record Price(Cost cost, Optional<ActualCost> actual) {

    /** What a call in flight takes is one place. */
    static final Price ONE = new Price(Cost.Fixed.ONE, Optional.empty());

    @Override
    public String toString() {
      return cost + actual.map(bean -> ", resultCost = " + bean).orElse("");
    }
  }

  private record Rules(List<Rule> told, List<Rule> anonymous) {}

  private final String method;
  private final Map<Owner, Rules> quotas = new LinkedHashMap<>();
  private final Set<Owner> refusing = new HashSet<>();
  private final Map<Owner, Price> prices = new HashMap<>();
  private final Map<Owner, BanRule> bans = new HashMap<>();
  private final Map<String, List<CallExpression>> expressions = new HashMap<>();
  private final Map<String, DenialText> texts = new HashMap<>();
  private final RuleNames names = new RuleNames();

  ChargePlanner(String method) {
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
   * @param terms what the annotation says of all of them
   */
  void add(
      String limit,
      SubjectSource source,
      List<RateRuleReader.Read> told,
      List<RateRuleReader.Read> anonymous,
      AnnotationTerms terms) {
    Map<PlannedCharge.CountedCalls, List<RateRuleReader.Read>> unknown = byKind(anonymous);
    Map<PlannedCharge.CountedCalls, List<RateRuleReader.Read>> known = byKind(told);
    if (!known.keySet().equals(unknown.keySet())) {
      throw terms
          .limiter()
          .error(
              "anonymousRules",
              anonymous.stream().map(each -> each.rule().name()).toList(),
              "they stand in place of the rules, and count other calls: let as many kinds of calls be counted of all callers (all, failures, successes, in flight, waiting)");
    }
    known.forEach(
        (kind, rules) ->
            add(limit, source, kind, rules, unknown.getOrDefault(kind, List.of()), terms));
  }

  /** In the order in which they are written first. */
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
      List<RateRuleReader.Read> told,
      List<RateRuleReader.Read> anonymous,
      AnnotationTerms terms) {
    Owner owner = new Owner(limit, source.withAnonymous(Anonymous.ADDRESS), kind);
    if (source.anonymous() == Anonymous.REFUSE) {
      refusing.add(owner);
    }
    agree(owner, terms);
    Rules rules =
        quotas.computeIfAbsent(owner, any -> new Rules(new ArrayList<>(), new ArrayList<>()));
    Map<RateRuleReader.Read, Rule> named = new HashMap<>();
    put(told, rules.told, named, terms.text());
    put(anonymous, rules.anonymous, named, terms.text());
  }

  /** One key is charged once, and its subject is banned in one way: nobody could tell which. */
  private void agree(Owner owner, AnnotationTerms terms) {
    if (owner.kind == PlannedCharge.CountedCalls.IN_FLIGHT) {
      return;
    }
    Price own = new Price(terms.cost(), terms.actualCost());
    Price other = prices.putIfAbsent(owner, own);
    if (other != null && !other.equals(own)) {
      throw terms
          .limiter()
          .error(
              "cost",
              own,
              "other rules of this method count the same subject with cost = %s: give all one cost, or some a key of their own"
                  .formatted(other));
    }
    if (terms.ban().isPresent() && BanReader.canBan(owner.subjects)) {
      BanRule ban = bans.putIfAbsent(owner, terms.ban().get());
      if (ban != null && !ban.equals(terms.ban().get())) {
        throw terms
            .limiter()
            .error(
                "ban",
                BanReader.text(terms.ban().get()),
                "another @RateLimiter of this method has ban = %s for the same subject: give both one ban, or one of them a key of its own"
                    .formatted(BanReader.text(ban)));
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

  List<PlannedCharge> quotas() {
    List<PlannedCharge> built = new ArrayList<>();
    quotas.forEach(
        (owner, rules) -> {
          Price price = prices.getOrDefault(owner, Price.ONE);
          built.add(
              new PlannedCharge(
                  owner.limit,
                  source(owner),
                  stack(owner, rules.told),
                  stack(owner, rules.anonymous),
                  price.cost,
                  price.actual));
        });
    requireOneThatWaits(built);
    return List.copyOf(built);
  }

  /** Rules of one subject are looked at where they are put together. */
  private void requireOneThatWaits(List<PlannedCharge> built) {
    List<String> waiting =
        built.stream().flatMap(quota -> quota.rules().waiting().stream()).map(Rule::name).toList();
    if (waiting.size() > 1) {
      throw PlanErrors.of(
          method,
          "@RateRule.algorithm",
          "LEAKY_BUCKET",
          "the rules %s would all make one call wait, and what departs evenly from one comes to the next in any order: leave it one of them, and let the others refuse"
              .formatted(waiting));
    }
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

  private RuleStack stack(Owner owner, List<Rule> rules) {
    try {
      RuleStack stack = RuleStack.of(rules).withCounting(owner.kind.counting());
      BanRule ban = bans.get(owner);
      return ban == null ? stack : stack.withBan(ban);
    } catch (IllegalArgumentException e) {
      throw PlanErrors.of(
          method,
          "@RateRule",
          rules.stream().map(Rule::name).toList().toString(),
          String.valueOf(e.getMessage()));
    }
  }
}
