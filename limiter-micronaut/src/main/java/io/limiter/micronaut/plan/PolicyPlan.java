// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One policy on one method, with its own treatment. A {@link LimitPlan} is a list of them.
 *
 * @param name its name
 * @param charges what a call takes under it, from which subjects
 * @param duplicates its duplicate guard
 * @param texts the texts of denials, by the name of the rule that denies
 * @param codeNames the names that its rules have in the code or in their list, by their names in
 *     header fields, which follow the numbers
 * @param failure which of its calls have failed
 * @param observed whether it is only observed, so that it denies no call
 * @param beforeSecurity where it asks to be decided before security
 * @param early where it asks for a decision before the body is read
 * @param tiers the same policy for callers of the tiers in which it differs
 * @param log counts the calls that an observed policy would deny
 */
@Internal
public record PolicyPlan(
    String name,
    List<PlannedCharge> charges,
    Optional<DuplicateGuard> duplicates,
    Map<String, DenialText> texts,
    Map<String, String> codeNames,
    CompletionPlan.Failure failure,
    boolean observed,
    Optional<Origin> beforeSecurity,
    Optional<Origin> early,
    Map<String, PolicyPlan> tiers,
    LogThrottle log) {

  public PolicyPlan {
    charges = List.copyOf(charges);
    tiers = Map.copyOf(tiers);
  }

  /** Whether nothing is charged by it. */
  boolean isEmpty() {
    return charges.isEmpty() && duplicates.isEmpty();
  }

  /** The policy for callers of a tier: this one unless it differs there. */
  public PolicyPlan inTier(String tier) {
    return tiers.getOrDefault(tier, this);
  }

  PolicyPlan withTiers(Map<String, PolicyPlan> others) {
    return with(charges, duplicates, texts, codeNames, others);
  }

  /**
   * Returns this policy with another one for callers of a tier.
   *
   * @param inTier the policies of the method there; without one of this name, it has no limits
   */
  PolicyPlan withTier(String tier, List<PolicyPlan> inTier) {
    Map<String, PolicyPlan> all = new HashMap<>(tiers);
    all.put(
        tier,
        inTier.stream()
            .filter(each -> each.name.equals(name))
            .findFirst()
            .orElseGet(() -> with(List.of(), Optional.empty(), Map.of(), Map.of(), Map.of())));
    return withTiers(all);
  }

  /** Returns this policy, decided before security because a policy of the method asks for that. */
  PolicyPlan decidedBeforeSecurity() {
    return with(charges, duplicates.map(DuplicateGuard::beforeSecurity), texts, codeNames, tiers);
  }

  /** The part of it that takes nothing from any rule. */
  PolicyPlan withoutRules() {
    return with(List.of(), duplicates, texts, codeNames, Map.of());
  }

  /** The part of it that some conditions select. */
  PolicyPlan where(Predicate<Optional<Condition>> limits) {
    return with(
        charges.stream().filter(planned -> limits.test(planned.condition())).toList(),
        duplicates.filter(guard -> limits.test(guard.condition())),
        texts,
        codeNames,
        Map.of());
  }

  /** The part of it that is decided before the body is read. */
  PolicyPlan earlyPart() {
    return with(
        charges.stream().filter(this::isEarly).toList(),
        Optional.empty(),
        texts,
        codeNames,
        inTiers(PolicyPlan::earlyPart));
  }

  /** The part of it that is decided after the arguments are bound. */
  PolicyPlan latePart() {
    return with(
        charges.stream().filter(planned -> !isEarly(planned)).toList(),
        duplicates,
        texts,
        codeNames,
        inTiers(PolicyPlan::latePart));
  }

  private boolean isEarly(PlannedCharge planned) {
    return early.isPresent() && planned.mayBeEarly();
  }

  private Map<String, PolicyPlan> inTiers(UnaryOperator<PolicyPlan> part) {
    Map<String, PolicyPlan> parts = new HashMap<>();
    tiers.forEach((tier, policy) -> parts.put(tier, part.apply(policy)));
    return parts;
  }

  private PolicyPlan with(
      List<PlannedCharge> some,
      Optional<DuplicateGuard> guard,
      Map<String, DenialText> text,
      Map<String, String> names,
      Map<String, PolicyPlan> others) {
    return new PolicyPlan(
        name, some, guard, text, names, failure, observed, beforeSecurity, early, others, log);
  }

  /**
   * Returns this policy with rule names that no other rule of a call has.
   *
   * @param taken the names of the others; those of this one are added
   */
  PolicyPlan withDistinctNames(Set<String> taken) {
    Map<String, String> renamed = new HashMap<>();
    boolean same = true;
    for (PlannedCharge planned : charges) {
      for (String own : planned.ruleNames()) {
        if (!renamed.containsKey(own)) {
          String distinct = own;
          for (int i = 2; !taken.add(distinct); i++) {
            distinct = own + '-' + i;
          }
          renamed.put(own, distinct);
          same &= own.equals(distinct);
        }
      }
    }
    if (same) {
      return this;
    }
    return with(
        charges.stream().map(planned -> planned.withRuleNames(renamed)).toList(),
        duplicates,
        byName(texts, renamed),
        byName(codeNames, renamed),
        tiers);
  }

  private static <T> Map<String, T> byName(Map<String, T> values, Map<String, String> renamed) {
    Map<String, T> all = new HashMap<>();
    values.forEach((name, value) -> all.put(renamed.getOrDefault(name, name), value));
    return Map.copyOf(all);
  }

  /** Who is counted: by its rules, and by its duplicate guard. */
  List<SubjectSource> sources() {
    List<SubjectSource> sources = new ArrayList<>();
    charges.forEach(planned -> sources.add(planned.source()));
    duplicates.ifPresent(guard -> sources.add(guard.submitter()));
    return sources;
  }

  /** All expressions over the arguments of a call, for callers of each tier. */
  Set<CallExpression> expressions() {
    Set<CallExpression> all = new HashSet<>();
    conditions().forEach(condition -> condition.expression().ifPresent(all::add));
    for (SubjectSource source : sources()) {
      if (source instanceof SubjectSource.Expression counted) {
        all.add(counted.expression());
      }
    }
    charges.forEach(planned -> planned.byArguments().forEach(all::add));
    if (duplicates.map(DuplicateGuard::submission).orElse(null)
        instanceof DuplicateGuard.SubmissionContent.ByExpression compared) {
      all.add(compared.expression());
    }
    tiers().values().forEach(tier -> all.addAll(tier.expressions()));
    return all;
  }

  /** Whether duplicates are found by arguments that are bound after the gate. */
  boolean comparesArguments() {
    return duplicates.filter(guard -> guard.submission().needsArguments()).isPresent();
  }

  /** Whether a rule counts calls that are answered with this status, as failures it names. */
  boolean countsFailures(int status) {
    return failure.statuses().filter(named -> named.contains(status)).isPresent()
        && charges.stream().anyMatch(planned -> planned.rules().counting() == Counting.FAILURES);
  }

  /** What selects its calls. */
  List<Condition> conditions() {
    List<Condition> conditions = new ArrayList<>();
    charges.forEach(planned -> planned.condition().ifPresent(conditions::add));
    duplicates.flatMap(DuplicateGuard::condition).ifPresent(conditions::add);
    return conditions;
  }

  /** The rules of callers of all tiers, with a subject and without. */
  Stream<RuleStack> stacks() {
    return Stream.concat(Stream.of(this), tiers.values().stream())
        .flatMap(each -> each.charges.stream())
        .flatMap(planned -> Stream.of(planned.rules(), planned.anonymousRules()));
  }

  /** Whether it bans subjects. */
  boolean bans() {
    return charges.stream().anyMatch(planned -> planned.rules().ban().isPresent());
  }

  /** Whether a rule of this name in header fields is one of its own. */
  public boolean hasRule(String rule) {
    return codeNames.containsKey(rule);
  }

  /** The names of its rules in the code, of those that are named otherwise in header fields. */
  Map<String, String> otherNames() {
    Map<String, String> other = new HashMap<>(codeNames);
    other.entrySet().removeIf(name -> name.getKey().equals(name.getValue()));
    return other;
  }

  /** The names of its rules in header fields. */
  Set<String> ruleNames() {
    Set<String> names = new HashSet<>();
    charges.forEach(planned -> names.addAll(planned.ruleNames()));
    return names;
  }

  /** Whether it, or one of its rules, is observed. */
  public boolean observesSome() {
    if (observed) {
      return true;
    }
    for (PlannedCharge planned : charges) {
      if (planned.observed()) {
        return true;
      }
    }
    return false;
  }

  /** The rules on trial, for calls with a subject; mostly none. */
  public List<RuleStack> trial() {
    return charges.stream().filter(PlannedCharge::trial).map(PlannedCharge::rules).toList();
  }

  /** The names of the rules on trial in header fields. */
  Set<String> trialNames() {
    Set<String> names = new HashSet<>();
    for (PlannedCharge planned : charges) {
      if (planned.trial()) {
        names.addAll(planned.ruleNames());
      }
    }
    return names;
  }

  /** The first of its rules on trial that would deny an admitted call; empty if none would. */
  public Optional<RuleVerdict> wouldDenyOnTrial(Verdict verdict) {
    return firstDenying(verdict, true);
  }

  /**
   * The first of its observed rules that would deny a call, of those that are not on trial; empty
   * if none would.
   */
  public Optional<RuleVerdict> wouldDeny(Verdict verdict) {
    Optional<RuleVerdict> rule = firstDenying(verdict, false);
    return rule.isEmpty() && observed && duplicates.isPresent()
        ? verdict.duplicate().filter(RuleVerdict::violated)
        : rule;
  }

  private Optional<RuleVerdict> firstDenying(Verdict verdict, boolean onTrial) {
    return verdict.rules().stream()
        .filter(rule -> rule.violated() && (observed || rule.observed()))
        .filter(rule -> hasRule(rule.rule().name()))
        .filter(rule -> trialNames().contains(rule.rule().name()) == onTrial)
        .findFirst();
  }

  /** Logs, at most once in ten seconds, that calls would be denied; it names no subject. */
  void logObserved() {
    long calls = log.count();
    if (calls > 0) {
      Observed.LOG.info(
          observed
              ? "The policy '{}' is only observed. Calls that it would have denied since the last message: {}"
              : "Rules of the policy '{}' are only observed. Calls that they would have denied since the last message: {}",
          name,
          calls);
    }
  }

  /** Creates the log when it is first needed, which is never while a limit is compiled. */
  private static final class Observed {

    static final Logger LOG = LoggerFactory.getLogger(PolicyPlan.class);
  }
}
