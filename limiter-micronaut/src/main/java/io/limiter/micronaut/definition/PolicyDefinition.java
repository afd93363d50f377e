// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.naming.NameUtils;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The definition of one policy in one place: an annotation, a source of settings, or a tier.
 * Members that are not written are absent. {@link #with} merges two definitions; the last one wins.
 *
 * @param name the name of the policy
 * @param members its members
 * @param lists the lists of rules that are written
 * @param changes members of single rules, by the name that a rule has without them
 * @param unlimited whether no rule holds, but the duplicate guard does
 */
@Internal
public record PolicyDefinition(
    String name,
    MemberSet members,
    Map<RuleList, List<MemberSet>> lists,
    Map<String, MemberSet> changes,
    boolean unlimited) {

  /** A list of rules. */
  public enum RuleList {
    /** The rules of the policy. */
    RULES("rules"),
    /** The rules for callers without a subject. */
    ANONYMOUS("anonymous-rules"),
    /** Rules that are observed beside the others. */
    TRIAL("trial");

    private final String path;
    private final String annotated;

    RuleList(String path) {
      this.path = path;
      this.annotated = NameUtils.camelCase(path, true);
    }

    /** The name in settings, such as {@code anonymous-rules}. */
    public String path() {
      return path;
    }

    /** The name in annotations, such as {@code anonymousRules}. */
    public String annotated() {
      return annotated;
    }
  }

  private static final List<PolicyMember<?>> TREATMENT =
      List.of(
          PolicyMember.ENABLED,
          PolicyMember.OBSERVE,
          PolicyMember.FALLBACK,
          PolicyMember.DEADLINE,
          PolicyMember.DENY_CACHE);

  /** Nothing is written of the policy. */
  public static PolicyDefinition of(String name, String place) {
    return new PolicyDefinition(name, MemberSet.of(place), Map.of(), Map.of(), false);
  }

  public PolicyDefinition withMembers(MemberSet others) {
    return new PolicyDefinition(name, others, lists, changes, unlimited);
  }

  /** Returns this definition with a list of rules. */
  public PolicyDefinition withList(RuleList list, List<MemberSet> rules) {
    return new PolicyDefinition(name, members, merged(Map.of(list, rules)), changes, unlimited);
  }

  private Map<RuleList, List<MemberSet>> merged(Map<RuleList, List<MemberSet>> others) {
    Map<RuleList, List<MemberSet>> all = new EnumMap<>(RuleList.class);
    all.putAll(lists);
    all.putAll(others);
    return all;
  }

  /** Returns this definition without any rule. */
  public PolicyDefinition withoutLimits() {
    return new PolicyDefinition(name, members, lists, changes, true);
  }

  /**
   * Returns this definition with members of one rule.
   *
   * @param rule the name that the rule has without them
   */
  public PolicyDefinition withChange(String rule, MemberSet some) {
    Map<String, MemberSet> all = new TreeMap<>(changes);
    all.merge(rule, some, MemberSet::with);
    return new PolicyDefinition(name, members, lists, all, unlimited);
  }

  /**
   * Returns this definition with a change applied. A list of rules replaces the rules and what
   * changed them.
   */
  public PolicyDefinition with(PolicyDefinition change) {
    if (members.isEmpty() && lists.isEmpty() && changes.isEmpty() && !unlimited) {
      return new PolicyDefinition( // as of nearly each policy of a file
          name, members.with(change.members), change.lists, change.changes, change.unlimited);
    }
    boolean replaces = change.has(RuleList.RULES);
    Map<String, MemberSet> all = replaces ? new TreeMap<>() : new TreeMap<>(changes);
    change.changes.forEach((rule, some) -> all.merge(rule, some, MemberSet::with));
    boolean limits = replaces || !change.changes.isEmpty();
    return new PolicyDefinition(
        name,
        members.with(change.members),
        merged(change.lists),
        all,
        change.unlimited || (unlimited && !limits));
  }

  /**
   * The part of a change that holds for all definitions of one policy on a method, not for the
   * nearest alone: its treatment, and single rules by their names.
   */
  public PolicyDefinition shared() {
    return new PolicyDefinition(name, members.only(TREATMENT), Map.of(), changes, unlimited);
  }

  /** Whether a list of rules is written; it may be empty. */
  public boolean has(RuleList list) {
    return lists.containsKey(list);
  }

  /**
   * The rules of a list that are in effect, by the names that they have without single changes; the
   * second rule of one name is {@code name-2}.
   *
   * @param nameOf the name of a rule by its members
   * @param taken the names of other rules; those of this list are added
   */
  public Map<String, MemberSet> changed(
      RuleList list, Function<MemberSet, String> nameOf, Set<String> taken) {
    Map<String, MemberSet> changed = new LinkedHashMap<>();
    for (MemberSet rule : lists.getOrDefault(list, List.of())) {
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
    for (RuleList list : RuleList.values()) {
      changed(list, nameOf, names);
    }
    return names;
  }

  /** The settings in it, sorted by key. */
  public List<Origin> settings() {
    List<MemberSet> all = new ArrayList<>(List.of(members));
    lists.values().forEach(all::addAll);
    all.addAll(changes.values());
    return all.stream()
        .map(MemberSet::origins)
        .flatMap(Collection::stream)
        .filter(Origin::isSetting)
        .sorted((one, other) -> one.key().compareTo(other.key()))
        .toList();
  }
}
