// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.micronaut.core.annotation.Internal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The definition of one policy in one place: an annotation, a source of settings, or a tier.
 * Members that are not written are absent. {@link #with} merges two definitions; the last one wins.
 *
 * @param name the name of the policy
 * @param members its members
 * @param rules its rules; empty if none are written
 * @param anonymousRules the rules for callers without a subject; empty if none are written
 * @param trial rules that are observed beside the others; empty if none are written
 * @param changes members of single rules, by the name that a rule has without them
 * @param unlimited whether no rule holds, but the duplicate guard does
 */
@Internal
public record PolicyDefinition(
    String name,
    MemberSet members,
    Optional<List<MemberSet>> rules,
    Optional<List<MemberSet>> anonymousRules,
    Optional<List<MemberSet>> trial,
    Map<String, MemberSet> changes,
    boolean unlimited) {

  private static final List<PolicyMember<?>> TREATMENT =
      List.of(
          PolicyMember.ENABLED,
          PolicyMember.OBSERVE,
          PolicyMember.FALLBACK,
          PolicyMember.DEADLINE,
          PolicyMember.DENY_CACHE);

  /** Nothing is written of the policy. */
  public static PolicyDefinition of(String name, String place) {
    return new PolicyDefinition(
        name,
        MemberSet.of(place),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Map.of(),
        false);
  }

  public PolicyDefinition withMembers(MemberSet others) {
    return new PolicyDefinition(name, others, rules, anonymousRules, trial, changes, unlimited);
  }

  /** Returns this definition with a list of rules. */
  public PolicyDefinition withListedRules(List<MemberSet> others) {
    return new PolicyDefinition(
        name, members, Optional.of(others), anonymousRules, trial, changes, unlimited);
  }

  /** Returns this definition with a list of rules for callers without a subject. */
  public PolicyDefinition withAnonymousRules(List<MemberSet> others) {
    return new PolicyDefinition(
        name, members, rules, Optional.of(others), trial, changes, unlimited);
  }

  /** Returns this definition with a list of rules on trial. */
  public PolicyDefinition withTrial(List<MemberSet> others) {
    return new PolicyDefinition(
        name, members, rules, anonymousRules, Optional.of(others), changes, unlimited);
  }

  /** Returns this definition without any rule. */
  public PolicyDefinition withoutLimits() {
    return new PolicyDefinition(name, members, rules, anonymousRules, trial, changes, true);
  }

  /**
   * Returns this definition with members of one rule.
   *
   * @param rule the name that the rule has without them
   */
  public PolicyDefinition withChange(String rule, MemberSet some) {
    Map<String, MemberSet> all = new TreeMap<>(changes);
    all.merge(rule, some, MemberSet::with);
    return new PolicyDefinition(name, members, rules, anonymousRules, trial, all, unlimited);
  }

  /**
   * Returns this definition with a change applied. A list of rules replaces the rules and what
   * changed them.
   */
  public PolicyDefinition with(PolicyDefinition change) {
    Map<String, MemberSet> all =
        change.rules.isPresent() ? new TreeMap<>() : new TreeMap<>(changes);
    change.changes.forEach((rule, some) -> all.merge(rule, some, MemberSet::with));
    boolean limits = change.rules.isPresent() || !change.changes.isEmpty();
    return new PolicyDefinition(
        name,
        members.with(change.members),
        change.rules.or(() -> rules),
        change.anonymousRules.or(() -> anonymousRules),
        change.trial.or(() -> trial),
        all,
        change.unlimited || (unlimited && !limits));
  }

  /**
   * The part of a change that holds for all definitions of one policy on a method, not for the
   * nearest alone: its treatment, and single rules by their names.
   */
  public PolicyDefinition shared() {
    return new PolicyDefinition(
        name,
        members.only(TREATMENT),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        changes,
        unlimited);
  }

  /**
   * The rules in effect, by the names that they have without single changes; the second rule of one
   * name is {@code name-2}.
   *
   * @param nameOf the name of a rule by its members
   */
  public Map<String, MemberSet> changedRules(
      Function<MemberSet, String> nameOf, Set<String> taken) {
    return changed(rules.orElse(List.of()), nameOf, taken);
  }

  /** Like {@link #changedRules}, but the rules for callers without a subject. */
  public Map<String, MemberSet> changedAnonymousRules(
      Function<MemberSet, String> nameOf, Set<String> taken) {
    return changed(anonymousRules.orElse(List.of()), nameOf, taken);
  }

  /** Like {@link #changedRules}, but the rules on trial. */
  public Map<String, MemberSet> changedTrial(
      Function<MemberSet, String> nameOf, Set<String> taken) {
    return changed(trial.orElse(List.of()), nameOf, taken);
  }

  private Map<String, MemberSet> changed(
      List<MemberSet> written, Function<MemberSet, String> nameOf, Set<String> taken) {
    Map<String, MemberSet> changed = new LinkedHashMap<>();
    for (MemberSet rule : written) {
      String name = nameOf.apply(rule);
      for (int i = 2; !taken.add(name); i++) {
        name = nameOf.apply(rule) + '-' + i;
      }
      changed.put(name, changes.containsKey(name) ? rule.with(changes.get(name)) : rule);
    }
    return changed;
  }

  /** The names of the rules, which single changes may use. */
  public Set<String> ruleNames(Function<MemberSet, String> nameOf) {
    Set<String> names = new HashSet<>();
    changedRules(nameOf, names);
    changedAnonymousRules(nameOf, names);
    changedTrial(nameOf, names);
    return names;
  }

  /** The settings in it, sorted by key. */
  public List<Origin> settings() {
    List<MemberSet> all = new ArrayList<>(List.of(members));
    Stream.of(rules, anonymousRules, trial).flatMap(Optional::stream).forEach(all::addAll);
    all.addAll(changes.values());
    return all.stream()
        .map(MemberSet::origins)
        .flatMap(Collection::stream)
        .filter(Origin::isSetting)
        .sorted((one, other) -> one.key().compareTo(other.key()))
        .toList();
  }
}
